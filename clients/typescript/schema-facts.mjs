// A plugin of graphql-codegen: what the client has to know of the schema while it runs.
import { getNamedType, isInputObjectType } from "graphql";

const written = (name, comment, values) => `/** ${comment} */
export const ${name}: ReadonlySet<string> = new Set(${JSON.stringify([...values].sort(), null, 2)});
`;

export function plugin(schema) {
  const inputs = Object.values(schema.getTypeMap()).filter(isInputObjectType);
  const keyed = new Set(inputs.filter((one) => one.getFields().idempotencyKey).map((one) => one.name));
  const batches = inputs.filter((one) => {
    const { idempotencyKey, items } = one.getFields();
    return !idempotencyKey && items && keyed.has(getNamedType(items.type).name);
  });
  const reading = inputs.filter((one) => one.getFields().atLeastSequence);
  const errors = schema.getPossibleTypes(schema.getType("MemoryError"));
  return [
    written("KEYED_INPUTS", "Inputs that have an `idempotencyKey`.", keyed),
    written("KEYED_BATCHES", "Inputs whose `items` have one each.", batches.map((one) => one.name)),
    written("READING_INPUTS", "Inputs that have an `atLeastSequence`.", reading.map((one) => one.name)),
    written("ERROR_TYPES", "Members of result unions that are errors.", errors.map((one) => one.name)),
  ].join("\n");
}
