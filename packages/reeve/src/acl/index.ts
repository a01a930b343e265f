export {
  type Caller,
  type Grants,
  MANAGEMENT_GRANTS,
  NO_GRANTS,
  policyNamesOf,
  resolveGrants,
} from './grants.ts'
export {
  parseExpirationTime,
  parseExpirationTtl,
  validateNamespace,
  validateNodePool,
  validatePolicy,
  validateRole,
  validateToken,
} from './validate.ts'
export { parseAclRules } from './parse-rules.ts'
export { namespaceHash, nodePoolHash, policyHash, roleHash, tokenHash } from './record-hash.ts'
export { NO_RULES, rulesJson } from './rules.ts'
export type { AclRules } from './rules.ts'
