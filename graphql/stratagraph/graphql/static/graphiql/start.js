"use strict";

// Starts GraphiQL against the GraphQL endpoint beside this page. Loads nothing from anywhere else.
(() => {
  const ENDPOINT = new URL("graphql", document.baseURI).href;

  const DEFAULT_HEADERS = '{\n  "Authorization": "Bearer "\n}';

  const DEFAULT_QUERY = `# Welcome to Stratagraph.
#
# This first query asks the memory:
# "What do you know that helps with this task?"
# The answer is a small graph: the records that fit
# best (roots), their neighbours, how they relate,
# and how well each one fits (score).
# No memory is changed by asking.
#
# 1. If the service wants a token, put it behind
#    "Bearer" in the Headers field below and press
#    the round arrows at the lower left: they load
#    the schema for the docs and the completion.
# 2. Describe your own task in taskDescriptor.
# 3. Press Ctrl-Enter.

query FirstLook {
  retrieveGraph(
    input: {
      taskDescriptor: "Plan the next release"
      rootLimit: 5
      nodeLimit: 15
      maxHops: 1
    }
  ) {
    __typename
    ... on RetrieveGraphSuccess {
      roots
      nodes {
        root
        hop
        score
        record {
          id
          type
          name
          text
          salience
          confidence
          state
        }
      }
      edges {
        sourceId
        predicate
        targetId
        weight
      }
      freshness {
        engine
        fallback
      }
    }
    ... on MemoryError {
      code
      message
      retryable
    }
  }
}
`;

  // GraphiQL's history would write the header field, and with it the token, into localStorage even with
  // `shouldPersistHeaders: false`. So whatever it stores passes through here, and no header is ever kept.
  const PREFIX = "graphiql:";
  const HEADER_KEYS = new Set([`${PREFIX}headers`, `${PREFIX}shouldPersistHeaders`]);
  const JSON_KEYS = new Set([`${PREFIX}queries`, `${PREFIX}favorites`, `${PREFIX}tabState`]);

  const withoutHeaders = (text) => JSON.stringify(JSON.parse(text), (key, value) => (key === "headers" ? null : value));

  const ownKeys = () => Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));

  const storage = {
    getItem: (key) => localStorage.getItem(key),
    setItem(key, value) {
      if (!HEADER_KEYS.has(key)) {
        localStorage.setItem(key, JSON_KEYS.has(key) ? withoutHeaders(value) : value);
      }
    },
    removeItem: (key) => localStorage.removeItem(key),
    clear: () => ownKeys().forEach((key) => localStorage.removeItem(key)),
    get length() {
      return ownKeys().length;
    },
  };

  // A field left at "Bearer " is no credential: send no Authorization header then.
  const filledIn = ([name, value]) => name.toLowerCase() !== "authorization" || !/^\s*(bearer)?\s*$/i.test(String(value));

  const fetcher = async (params, options = {}) => {
    const response = await fetch(ENDPOINT, {
      method: "POST",
      headers: {
        Accept: "application/json",
        "Content-Type": "application/json",
        ...Object.fromEntries(Object.entries(options.headers ?? {}).filter(filledIn)),
      },
      body: JSON.stringify(params),
    });
    const text = await response.text();
    try {
      return JSON.parse(text);
    } catch {
      return { errors: [{ message: `HTTP ${response.status} ${response.statusText}: ${text.slice(0, 500)}` }] };
    }
  };

  const h = React.createElement;
  ReactDOM.createRoot(document.getElementById("graphiql")).render(
    h(
      GraphiQL,
      {
        fetcher,
        storage,
        defaultQuery: DEFAULT_QUERY,
        defaultHeaders: DEFAULT_HEADERS,
        defaultEditorToolsVisibility: "headers",
        isHeadersEditorEnabled: true,
        shouldPersistHeaders: false,
      },
      h(GraphiQL.Logo, null, h("span", { className: "stratagraph-logo" }, "Stratagraph")),
    ),
  );
})();
