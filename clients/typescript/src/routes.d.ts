/** @type {Record<import("./types.js").Operation, [method: string, path: string, inUrl: string[]]>} */
export const ROUTES: Record<import("./types.js").Operation, [method: string, path: string, inUrl: string[]]>;
