// Writes src/openapi.d.ts, types of what the server's OpenAPI document says, and src/routes.js, where each operation
// is. Both begin with the document's digest, by which a test of the server sees that they are out of date.
// PYTHON names an interpreter that has zibaldone.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const here = new URL(".", import.meta.url);
const run = (...args) =>
  execFileSync(process.env.PYTHON ?? "python3", ["../../tools/openapi.py", ...args], { cwd: here, encoding: "utf-8" });
const head = `// Made by 'npm run generate' of the OpenAPI document with the digest ${run("--digest").trim()}\n`;
const document = JSON.parse(run());
for (const schema of Object.values(document.components.schemas)) {
  if (!schema.anyOf || !schema.properties) continue;
  schema.allOf = [{ anyOf: schema.anyOf }]; // else openapi-typescript makes the properties one of the alternatives
  delete schema.anyOf;
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method, path, ...operation })),
);
for (const parameter of operations.flatMap((operation) => operation.parameters)) {
  parameter.schema ??= parameter.content["application/json"].schema; // JSON in the URL: the client writes it
}
const types = astToString(
  await openapiTS(document, { defaultNonNullable: false, rootTypes: true, rootTypesNoSchemaPrefix: true }),
);
writeFileSync(new URL("src/openapi.d.ts", here), head + types);
const routes = operations.map(({ operationId, method, path, parameters }) => {
  const inUrl = parameters.filter((one) => one.in === "query").map((one) => one.name);
  return `  ${operationId}: ${JSON.stringify([method.toUpperCase(), path, inUrl])},`;
});
const kind = '/** @type {Record<import("./types.js").Operation, [method: string, path: string, inUrl: string[]]>} */';
writeFileSync(new URL("src/routes.js", here), [head + kind, "export const ROUTES = {", ...routes, "};\n"].join("\n"));
