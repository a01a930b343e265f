import type { AclPolicyRecord, AclToken, Namespace, NodePool } from '@reeve/contract'
import type { RuleAliases } from '../compat/index.ts'
import { formatDurationNs, nsFromMs, parseDurationNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isSchedulerAlgorithm, LIMITS } from '../model/index.ts'
import { ACL_LINKS_MAX, clip } from './limits.ts'
import { parseAclRules } from './parse-rules.ts'

/** Names of policies, roles and namespaces. */
const NAME_PATTERN = /^[a-zA-Z0-9-]{1,128}$/

/** A token to be stored, and the one that it replaces. */
export interface TokenCandidate {
  readonly token: Pick<AclToken, 'Name' | 'Policies' | 'Global'> & {
    readonly Type: string
    readonly Roles: readonly unknown[] | null
  }
  /** Creation time of the token. */
  readonly createMs: number
  readonly expirationMs: number | undefined
  readonly ttlNs: number | undefined
  /** Undefined for a new token. */
  readonly existing: ExistingToken | undefined
}

interface ExistingToken {
  readonly Global: boolean
  readonly expirationMs: number | undefined
  readonly ttlNs: number | undefined
}

/** Returns why a token is invalid; undefined if it is valid. */
export function validateToken(candidate: TokenCandidate): string | undefined {
  const { token, existing } = candidate
  const problems = [
    token.Name.length > LIMITS.tokenNameCharsMax && 'token name too long',
    tokenTypeProblem(token),
    linkCountProblem(token.Policies, 'token', 'policies'),
    linkCountProblem(token.Roles, 'token', 'roles'),
    ...(existing === undefined ? expiryProblems(candidate) : changeProblems(candidate, existing)),
  ]
  return combineProblems('token 0 invalid', problems)
}

function tokenTypeProblem({ Type, Policies, Roles }: TokenCandidate['token']): Problem {
  const links = (Policies?.length ?? 0) + (Roles?.length ?? 0)
  if (Type === 'client') return links === 0 && 'client token missing policies or roles'
  if (Type !== 'management') return 'token type must be client or management'
  return links > 0 && 'management token cannot be associated with policies or roles'
}

function expiryProblems({ createMs, expirationMs, ttlNs }: TokenCandidate): readonly Problem[] {
  const isNegative = ttlNs !== undefined && ttlNs < 0
  const ttl = `token expiration TTL '${formatDurationNs(ttlNs ?? 0)}' should not be negative`
  if (expirationMs === undefined) return [isNegative && ttl]
  const lifeMs = expirationMs - createMs
  const { tokenTtlMsMin: min, tokenTtlMsMax: max } = LIMITS
  const suffix = `in the future (was ${durationText(lifeMs)})`
  return [
    isNegative && ttl,
    lifeMs < 0 && 'expiration time cannot be before create time',
    lifeMs > max && `expiration time cannot be more than ${durationText(max)} ${suffix}`,
    lifeMs < min && `expiration time cannot be less than ${durationText(min)} ${suffix}`,
  ]
}

function durationText(ms: number): string {
  return formatDurationNs(nsFromMs(ms))
}

/** A token cannot switch between global and local. */
function changeProblems(candidate: TokenCandidate, previous: ExistingToken): readonly Problem[] {
  const { token, ttlNs, expirationMs } = candidate
  return [
    token.Global !== previous.Global && 'cannot toggle global mode',
    ttlNs !== previous.ttlNs && 'cannot update expiration TTL',
    expirationMs !== previous.expirationMs && 'cannot update expiration time',
  ]
}

/** Returns why a policy is invalid; undefined if it is valid. */
export function validatePolicy(
  policy: Pick<AclPolicyRecord, 'Name' | 'Description' | 'Rules' | 'JobACL'>,
  aliases?: RuleAliases,
): string | undefined {
  const rules = parseAclRules(policy.Rules, aliases)
  const { Namespace = '', JobID = '', Group = '', Task = '' } = policy.JobACL ?? {}
  return combineProblems('policy 0 invalid', [
    !NAME_PATTERN.test(policy.Name) && `invalid name '${clip(policy.Name)}'`,
    !rules.ok && `failed to parse rules: ${rules.error}`,
    descriptionProblem(policy),
    JobID !== '' && Namespace === '' && 'namespace must be set to set job ID',
    Group !== '' && JobID === '' && 'job ID must be set to set group',
    Task !== '' && Group === '' && 'group must be set to set task',
  ])
}

/** Returns why a role is invalid, without reading other records; undefined if it is valid. */
export function validateRole(role: {
  readonly Name: string
  readonly Description: string
  readonly Policies: readonly unknown[]
}): string | undefined {
  return combineProblems('role 0 invalid', [
    !NAME_PATTERN.test(role.Name) && `invalid name '${clip(role.Name)}'`,
    descriptionProblem(role),
    role.Policies.length === 0 && 'at least one policy should be specified',
    linkCountProblem(role.Policies, 'role', 'policies'),
  ])
}

/** Returns why a namespace is invalid; undefined if it is valid. */
export function validateNamespace(
  namespace: Pick<Namespace, 'Name' | 'Description'>,
): string | undefined {
  const name = clip(namespace.Name)
  return combineProblems(`Invalid namespace "${name}"`, [
    !NAME_PATTERN.test(namespace.Name) &&
      `invalid name "${name}". Must match regex ^[a-zA-Z0-9-]{1,128}$`,
    descriptionProblem(namespace),
  ])
}

/** Unlike other names, names of node pools may contain underscores. */
const POOL_NAME_PATTERN = /^[a-zA-Z0-9_-]{1,128}$/

/** Returns why a node pool is invalid; undefined if it is valid. */
export function validateNodePool(
  pool: Pick<NodePool, 'Name' | 'Description' | 'SchedulerConfiguration'>,
): string | undefined {
  const name = clip(pool.Name)
  const algorithm = pool.SchedulerConfiguration?.SchedulerAlgorithm ?? ''
  return combineProblems(`invalid node pool "${name}"`, [
    !POOL_NAME_PATTERN.test(pool.Name) &&
      `invalid name "${name}", must match regex ^[a-zA-Z0-9-_]{1,128}$`,
    descriptionProblem(pool),
    algorithm !== '' &&
      !isSchedulerAlgorithm(algorithm) &&
      `invalid scheduler algorithm: ${clip(algorithm)}`,
  ])
}

/** A problem, or false if the rule is met. */
type Problem = string | false

function descriptionProblem({ Description }: { readonly Description: string }): Problem {
  const max = LIMITS.descriptionCharsMax
  return Description.length > max && `description longer than ${max}`
}

function linkCountProblem(links: readonly unknown[] | null, owner: string, what: string): Problem {
  return (links?.length ?? 0) > ACL_LINKS_MAX && `${owner} has more than ${ACL_LINKS_MAX} ${what}`
}

function combineProblems(prefix: string, problems: readonly Problem[]): string | undefined {
  const found = problems.filter((problem) => problem !== false)
  return found.length === 0 ? undefined : `${prefix}: ${formatMultiError(found)}`
}

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,18})?(?:[Zz]|[+-]\d{2}:\d{2})$/

/** Parses the `ExpirationTime` of a token request; undefined if the request sets none. */
export function parseExpirationTime(
  text: string | null | undefined,
): Result<number | undefined, string> {
  if (text === undefined || text === null || text === '' || text === ZERO_TIME) return ok(undefined)
  const ms = RFC_3339.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms)
    ? err(`parsing time "${clip(text)}": expiration times are written as RFC 3339`)
    : ok(ms)
}

/** Parses the `ExpirationTTL` of a token request: a duration such as `8h`, or nanoseconds. */
export function parseExpirationTtl(
  input: string | number | null | undefined,
): Result<number | undefined, string> {
  if (input === undefined || input === null || input === '') return ok(undefined)
  const ns = typeof input === 'number' ? input : parseDurationNs(input)
  if (ns === undefined) return err(`time: invalid duration "${clip(String(input))}"`)
  return ok(ns === 0 ? undefined : ns)
}
