export type { Caller } from './caller.ts'
export { parseExpirationTime, parseExpirationTtl } from './expiry.ts'
export { ACLS_OFF, MANAGEMENT_GRANTS, NO_GRANTS } from './grants.ts'
export type { Grants } from './grants.ts'
export { parseAclRules } from './parse-rules.ts'
export { namespaceHash, nodePoolHash, policyHash, roleHash, tokenHash } from './record-hash.ts'
export { policyNamesOf, resolveGrants } from './resolve-grants.ts'
export { NO_RULES, rulesJson } from './rules.ts'
export type { AclRules } from './rules.ts'
export {
  validateNamespace,
  validateNodePool,
  validatePolicy,
  validateRole,
  validateToken,
} from './validate.ts'
