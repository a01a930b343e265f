import assert from 'node:assert/strict'
import test from 'node:test'
import { ApiError, ConnectionError } from '@reeve/sdk'
import { EXIT_CODES } from './exit-code.ts'
import { CommandFailure, UsageError } from './failure.ts'
import type { ConnectionSettings } from './settings/settings.ts'
import { tell } from './tell.ts'

const SETTINGS: ConnectionSettings = {
  address: 'http://127.0.0.1:4646',
  token: undefined,
  namespace: undefined,
  region: undefined,
  sources: { address: 'REEVE_ADDR', token: 'nowhere' },
}
const WITH_TOKEN: ConnectionSettings = {
  ...SETTINGS,
  token: 'secret',
  namespace: 'prod',
  sources: { address: 'REEVE_ADDR', token: '--token' },
}

function refusal(status: number, text: string, call = 'POST /v1/jobs'): ApiError {
  const none = { requestId: undefined, index: undefined, retryAfterMs: undefined }
  return new ApiError({ call, status, text, errors: [], ...none })
}

const NO_TOKEN = 'No token was sent: "reeve login" keeps one, --token or REEVE_TOKEN name one.'

const cases = [
  {
    name: 'a mistake of the command line',
    thrown: new UsageError('--tail needs a whole number.'),
    settings: SETTINGS,
    told: { code: EXIT_CODES.usage, what: '--tail needs a whole number.', next: '' },
  },
  {
    name: 'a failure that says what to do',
    thrown: new CommandFailure('No.', { code: EXIT_CODES.missing, hint: 'Look.' }),
    settings: SETTINGS,
    told: { code: EXIT_CODES.missing, what: 'No.', next: 'Look.' },
  },
  {
    name: 'no server',
    thrown: new ConnectionError({
      reason: 'unreachable',
      address: '',
      message: 'connection refused',
    }),
    settings: SETTINGS,
    told: {
      code: EXIT_CODES.unreachable,
      what: 'No server answers at http://127.0.0.1:4646 (from REEVE_ADDR).',
      next: 'Start one with "reeve agent --dev", or name another with --address or REEVE_ADDR.',
    },
  },
  {
    name: 'a server that does not answer in time, in its own words',
    thrown: new ConnectionError({ reason: 'timeout', address: '', message: 'It took too long.' }),
    settings: SETTINGS,
    told: { code: EXIT_CODES.unreachable, what: 'It took too long.', next: '' },
  },
  {
    name: 'a token that is missing',
    thrown: refusal(403, 'Permission denied'),
    settings: SETTINGS,
    told: { code: EXIT_CODES.denied, what: 'Permission denied', next: NO_TOKEN },
  },
  {
    name: 'a right that is missing, by what the route needs',
    thrown: refusal(403, 'Permission denied', 'GET /v1/jobs'),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.denied,
      what: 'Permission denied',
      next:
        'The token (from --token) lacks namespace:list-jobs, in namespace "prod", or is not known ' +
        'there: "reeve acl token self" shows what it may do.',
    },
  },
  {
    name: 'policies that may be overridden',
    thrown: refusal(
      403,
      'job "web" is denied by 2 policies:\n\t* a\nPolicyOverride passes over what is listed',
    ),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.refusedByPolicy,
      what: 'job "web" is denied by 2 policies:\n\t* a\nPolicyOverride passes over what is listed',
      next: 'Change it so that the policies pass, or repeat the command with --policy-override.',
    },
  },
  {
    name: 'something that is not there',
    thrown: refusal(404, 'job not found'),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.missing,
      what: 'job not found',
      next: 'Looked in namespace "prod": --namespace or REEVE_NAMESPACE choose another.',
    },
  },
  {
    name: 'something of the governance API, which has no namespaces',
    thrown: refusal(404, 'not found', 'GET /api/v2/projects/:project_id'),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.missing,
      what: 'not found',
      next: 'It does not exist, or the token may not see it.',
    },
  },
  {
    name: 'a region that the server does not know',
    thrown: refusal(404, 'No path to region'),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.missing,
      what: 'No path to region',
      next: '--region and REEVE_REGION name a region that this server knows; without them it is its own.',
    },
  },
  {
    name: 'a server that has no tokens',
    thrown: refusal(400, 'ACL support disabled', 'GET /v1/acl/tokens'),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.failed,
      what: 'ACL support disabled',
      next:
        'This server asks nobody for a token, so it has no tokens, access policies and roles. ' +
        'Start it with --acl (acl.enabled), then run "reeve acl bootstrap".',
    },
  },
  {
    name: 'a conflict',
    thrown: refusal(409, 'index is 5'),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.conflict,
      what: 'index is 5',
      next: 'Somebody changed it meanwhile: look again, then repeat the command.',
    },
  },
  {
    name: 'a refusal without a text, by its call',
    thrown: refusal(500, ''),
    settings: WITH_TOKEN,
    told: { code: EXIT_CODES.failed, what: 'POST /v1/jobs: 500', next: '' },
  },
]

for (const { name, thrown, settings, told } of cases)
  test(`tell: ${name}`, () => {
    assert.deepEqual(tell(thrown, settings), told)
  })

test('tell: what is wrong with the program itself is thrown on', () => {
  const bug = new Error('invariant broken')
  assert.throws(() => tell(bug, SETTINGS), bug)
})
