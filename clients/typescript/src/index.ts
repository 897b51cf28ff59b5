// The client of Stratagraph. All documents and types of the API are in "stratagraph-client/operations".

export {
  Client,
  type ClientOptions,
  type FollowOptions,
  type Listed,
  type ListOptions,
  type Page,
  type Positioned,
} from "./client.js";
export type { Given, Narrowed, TypedDocument } from "./documents.js";
export {
  Conflict,
  EvidenceRequired,
  Forbidden,
  IdempotencyMismatch,
  InvalidInput,
  LimitExceeded,
  NotFound,
  PositionExpired,
  RateLimited,
  StratagraphError,
  Unauthenticated,
  Unavailable,
  VersionConflict,
  type ErrorDetails,
  type Problem,
} from "./errors.js";
export type {
  AuditEntry,
  Explanation,
  Lessons,
  Recalled,
  RecalledMemory,
  Related,
  Remembered,
  Reported,
  Source,
  Version,
} from "./memories.js";
export {
  createClient,
  Memory,
  type CorrectOptions,
  type MemoryOptions,
  type RecallOptions,
  type RememberOptions,
} from "./memory.js";
export { Thread, type ToolCalled } from "./thread.js";
export type { CallOptions, TransportOptions } from "./transport.js";
