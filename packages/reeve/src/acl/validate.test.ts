import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { ACL_LINKS_MAX } from './limits.ts'
import {
  validateNamespace,
  validatePolicy,
  validateRole,
  validateToken,
  type TokenCandidate,
} from './validate.ts'

const HOUR_MS = 3_600_000
const CREATED_MS = Date.parse('2026-01-01T00:00:00Z')

/** The smallest valid token. */
function aToken(
  changes: Partial<TokenCandidate['token']> & Partial<Omit<TokenCandidate, 'token'>> = {},
): TokenCandidate {
  const { createMs = CREATED_MS, expirationMs, ttlNs, existing, ...token } = changes
  return {
    token: { Name: '', Type: 'client', Policies: ['p'], Roles: null, Global: false, ...token },
    createMs,
    expirationMs,
    ttlNs,
    existing,
  }
}

const OLD = { Global: false, expirationMs: undefined, ttlNs: undefined }

const TOKENS = [
  { name: 'a client token with a policy is valid', token: aToken(), problems: [] },
  {
    name: 'a client token with a role is valid',
    token: aToken({ Policies: null, Roles: [{}] }),
    problems: [],
  },
  {
    name: 'a management token is valid without policies',
    token: aToken({ Type: 'management', Policies: null }),
    problems: [],
  },
  {
    name: 'a management token may have an empty list of policies',
    token: aToken({ Type: 'management', Policies: [] }),
    problems: [],
  },
  {
    name: 'a name of 256 characters is valid',
    token: aToken({ Name: 'n'.repeat(256) }),
    problems: [],
  },
  {
    name: 'a longer name is not',
    token: aToken({ Name: 'n'.repeat(257) }),
    problems: ['token name too long'],
  },
  {
    name: 'the type must be known',
    token: aToken({ Type: 'root' }),
    problems: ['token type must be client or management'],
  },
  {
    name: 'the type must be given',
    token: aToken({ Type: '' }),
    problems: ['token type must be client or management'],
  },
  {
    name: 'a client token needs a policy or a role',
    token: aToken({ Policies: [], Roles: [] }),
    problems: ['client token missing policies or roles'],
  },
  {
    name: 'a management token has no policies',
    token: aToken({ Type: 'management' }),
    problems: ['management token cannot be associated with policies or roles'],
  },
  {
    name: 'a management token has no roles',
    token: aToken({ Type: 'management', Policies: null, Roles: [{}] }),
    problems: ['management token cannot be associated with policies or roles'],
  },
  {
    name: 'a token names a bounded number of policies',
    token: aToken({ Policies: Array.from({ length: ACL_LINKS_MAX + 1 }, () => 'p') }),
    problems: ['token has more than 1000 policies'],
  },
  {
    name: 'a lifetime within the bounds is valid',
    token: aToken({ expirationMs: CREATED_MS + HOUR_MS, ttlNs: 3600e9 }),
    problems: [],
  },
  {
    name: 'the shortest lifetime is a minute',
    token: aToken({ expirationMs: CREATED_MS + 60_000 }),
    problems: [],
  },
  {
    name: 'a shorter one is refused',
    token: aToken({ expirationMs: CREATED_MS + 59_000 }),
    problems: ['expiration time cannot be less than 1m0s in the future (was 59s)'],
  },
  {
    name: 'the longest lifetime is a day',
    token: aToken({ expirationMs: CREATED_MS + 24 * HOUR_MS }),
    problems: [],
  },
  {
    name: 'a longer one is refused',
    token: aToken({ expirationMs: CREATED_MS + 25 * HOUR_MS }),
    problems: ['expiration time cannot be more than 24h0m0s in the future (was 25h0m0s)'],
  },
  {
    name: 'a token cannot expire before it is made',
    token: aToken({ expirationMs: CREATED_MS - HOUR_MS }),
    problems: [
      'expiration time cannot be before create time',
      'expiration time cannot be less than 1m0s in the future (was -1h0m0s)',
    ],
  },
  {
    name: 'a negative lifetime is reported as such',
    token: aToken({ expirationMs: CREATED_MS - HOUR_MS, ttlNs: -3600e9 }),
    problems: [
      "token expiration TTL '-1h0m0s' should not be negative",
      'expiration time cannot be before create time',
      'expiration time cannot be less than 1m0s in the future (was -1h0m0s)',
    ],
  },
  {
    name: 'an update that changes nothing else is valid',
    token: aToken({ Name: 'new', existing: OLD }),
    problems: [],
  },
  {
    name: 'an update may change the type',
    token: aToken({ Type: 'management', Policies: null, existing: OLD }),
    problems: [],
  },
  {
    name: 'an update keeps an old expiry that has passed the bounds',
    token: aToken({
      expirationMs: CREATED_MS - HOUR_MS,
      existing: { ...OLD, expirationMs: CREATED_MS - HOUR_MS },
    }),
    problems: [],
  },
  {
    name: 'an update cannot make a token global',
    token: aToken({ Global: true, existing: OLD }),
    problems: ['cannot toggle global mode'],
  },
  {
    name: 'an update cannot make a token local',
    token: aToken({ Global: false, existing: { ...OLD, Global: true } }),
    problems: ['cannot toggle global mode'],
  },
  {
    name: 'an update cannot change the lifetime',
    token: aToken({ ttlNs: 60e9, existing: OLD }),
    problems: ['cannot update expiration TTL'],
  },
  {
    name: 'an update cannot change the expiry',
    token: aToken({ expirationMs: CREATED_MS + HOUR_MS, existing: OLD }),
    problems: ['cannot update expiration time'],
  },
  {
    name: 'all problems are reported at once',
    token: aToken({ Name: 'n'.repeat(257), Type: 'root', Global: true, existing: OLD }),
    problems: [
      'token name too long',
      'token type must be client or management',
      'cannot toggle global mode',
    ],
  },
]

for (const { name, token, problems } of TOKENS)
  test(`validateToken: ${name}`, () => {
    const wanted =
      problems.length === 0 ? undefined : `token 0 invalid: ${formatMultiError(problems)}`
    assert.equal(validateToken(token), wanted)
  })

const NO_JOB = { Namespace: '', JobID: '', Group: '', Task: '' }

const POLICIES = [
  { name: 'an empty policy is valid', policy: {}, problems: [] },
  { name: 'a name of 128 characters is valid', policy: { Name: 'n'.repeat(128) }, problems: [] },
  { name: 'a name must be there', policy: { Name: '' }, problems: ["invalid name ''"] },
  { name: 'a name has no blanks', policy: { Name: 'a b' }, problems: ["invalid name 'a b'"] },
  {
    name: 'a name has no newline at its end',
    policy: { Name: 'a\n' },
    problems: ["invalid name 'a\n'"],
  },
  {
    name: 'a name has at most 128 characters',
    policy: { Name: 'n'.repeat(129) },
    problems: [`invalid name '${'n'.repeat(129)}'`],
  },
  {
    name: 'the rules must parse',
    policy: { Rules: 'foo {}' },
    problems: ['failed to parse rules: Invalid or duplicate policy keys: foo'],
  },
  {
    name: 'a description has at most 256 characters',
    policy: { Description: 'd'.repeat(257) },
    problems: ['description longer than 256'],
  },
  {
    name: 'a whole workload is valid',
    policy: { JobACL: { Namespace: 'default', JobID: 'j', Group: 'g', Task: 't' } },
    problems: [],
  },
  {
    name: 'a job needs its namespace',
    policy: { JobACL: { ...NO_JOB, JobID: 'j' } },
    problems: ['namespace must be set to set job ID'],
  },
  {
    name: 'a group needs its job',
    policy: { JobACL: { ...NO_JOB, Namespace: 'default', Group: 'g' } },
    problems: ['job ID must be set to set group'],
  },
  {
    name: 'a task needs its group',
    policy: { JobACL: { ...NO_JOB, Namespace: 'default', JobID: 'j', Task: 't' } },
    problems: ['group must be set to set task'],
  },
]

for (const { name, policy, problems } of POLICIES)
  test(`validatePolicy: ${name}`, () => {
    const whole = { Name: 'a', Description: '', Rules: '', JobACL: null, ...policy }
    const wanted =
      problems.length === 0 ? undefined : `policy 0 invalid: ${formatMultiError(problems)}`
    assert.equal(validatePolicy(whole), wanted)
  })

const ROLES = [
  { name: 'a role with a policy is valid', role: {}, problems: [] },
  { name: 'a name must be valid', role: { Name: 'a_b' }, problems: ["invalid name 'a_b'"] },
  {
    name: 'a description has at most 256 characters',
    role: { Description: 'd'.repeat(257) },
    problems: ['description longer than 256'],
  },
  {
    name: 'a policy is needed',
    role: { Policies: [] },
    problems: ['at least one policy should be specified'],
  },
  {
    name: 'a role names a bounded number of policies',
    role: { Policies: Array.from({ length: ACL_LINKS_MAX + 1 }, () => ({})) },
    problems: ['role has more than 1000 policies'],
  },
]

for (const { name, role, problems } of ROLES)
  test(`validateRole: ${name}`, () => {
    const wanted =
      problems.length === 0 ? undefined : `role 0 invalid: ${formatMultiError(problems)}`
    assert.equal(validateRole({ Name: 'a', Description: '', Policies: [{}], ...role }), wanted)
  })

const NAMESPACES = [
  { name: 'a name alone is enough', namespace: { Name: 'prod' }, problems: [] },
  {
    name: 'a name must match',
    namespace: { Name: 'a/b' },
    problems: ['invalid name "a/b". Must match regex ^[a-zA-Z0-9-]{1,128}$'],
  },
  {
    name: 'a star is no name',
    namespace: { Name: '*' },
    problems: ['invalid name "*". Must match regex ^[a-zA-Z0-9-]{1,128}$'],
  },
  {
    name: 'a description has at most 256 characters',
    namespace: { Name: 'prod', Description: 'd'.repeat(257) },
    problems: ['description longer than 256'],
  },
]

for (const { name, namespace, problems } of NAMESPACES)
  test(`validateNamespace: ${name}`, () => {
    const prefix = `Invalid namespace "${namespace.Name}"`
    const wanted = problems.length === 0 ? undefined : `${prefix}: ${formatMultiError(problems)}`
    assert.equal(validateNamespace({ Description: '', ...namespace }), wanted)
  })
