export { escapeQuery, parseUrl, unescapeText } from './url.ts'
export type { UrlParts } from './url.ts'
