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
  sources: { address: 'REEVE_ADDR', token: 'nowhere', region: 'nowhere' },
}
const WITH_TOKEN: ConnectionSettings = {
  ...SETTINGS,
  token: 'secret',
  namespace: 'prod',
  sources: { ...SETTINGS.sources, token: '--token' },
}

function refusal(status: number, text: string, call = 'POST /v1/jobs'): ApiError {
  const none = { requestId: undefined, index: undefined, retryAfterMs: undefined }
  return new ApiError({ call, status, text, errors: [], ...none })
}

const REJECTED =
  'cannot reach https://a: the connection was cut. It may reject the certificate that was shown: ' +
  'the log of the server says why.'
const NO_TOKEN = 'No token was sent: "reeve login" keeps one, --token or REEVE_TOKEN name one.'

const STAT_FILE = 'GET /v1/client/fs/stat/:alloc_id'
const PATHS =
  'Paths begin at the directory of the allocation: "reeve alloc fs ALLOC" shows what is in it.'

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
  ...[
    'cannot reach http://127.0.0.1:4646: the connection was cut. Does the server want https?',
    'cannot reach https://127.0.0.1:4646: the server does not speak https. Use http.',
  ].map((message) => ({
    name: `something else that listens there, in its own words: ${message}`,
    thrown: new ConnectionError({ reason: 'unreachable', address: '', message }),
    settings: SETTINGS,
    told: { code: EXIT_CODES.unreachable, what: message, next: '' },
  })),
  {
    name: 'a server that rejects the certificate',
    thrown: new ConnectionError({
      reason: 'unreachable',
      address: '',
      message: REJECTED,
    }),
    settings: SETTINGS,
    told: {
      code: EXIT_CODES.unreachable,
      what: REJECTED,
      next: '--client-cert and --client-key, or REEVE_CLIENT_CERT and REEVE_CLIENT_KEY, name one.',
    },
  },
  {
    name: 'a server that does not answer in time',
    thrown: new ConnectionError({
      reason: 'timeout',
      address: '',
      message: 'http://a did not answer within 60 s. Try again, or raise timeoutMs.',
    }),
    settings: SETTINGS,
    told: {
      code: EXIT_CODES.unreachable,
      what: 'http://a did not answer within 60 s.',
      next: 'Try again, or name another server with --address or REEVE_ADDR.',
    },
  },
  {
    name: 'a server that does not answer in time for another region',
    thrown: new ConnectionError({
      reason: 'timeout',
      address: '',
      message: 'http://a did not answer within 60 s. Try again, or raise timeoutMs.',
    }),
    settings: { ...SETTINGS, region: 'eu' },
    told: {
      code: EXIT_CODES.unreachable,
      what: 'Region "eu" was asked for: http://a did not answer within 60 s.',
      next:
        '"reeve server members" shows which regions this server knows. ' +
        '--address or REEVE_ADDR name a server of region "eu" itself.',
    },
  },
  ...[
    'job "web" in namespace "prod" at version 9 not found',
    'version 9 not found',
    'tag "v9" not found',
  ].map((text) => ({
    name: `a version that is not there: ${text}`,
    thrown: refusal(404, text),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.missing,
      what: text,
      next: 'See which there are with "reeve job history JOB".',
    },
  })),
  {
    name: 'a token that is not known, and so cannot show what it may do',
    thrown: refusal(403, 'Permission denied', 'GET /v1/acl/token/self'),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.denied,
      what: 'Permission denied',
      next: 'The token (from --token) is not known there, or it has expired: "reeve login" takes another one.',
    },
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
    name: 'a secret of a task, which no right opens',
    thrown: refusal(403, 'Reading secret file prohibited: t/secrets', STAT_FILE),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.failed,
      what: 'Reading secret file prohibited: t/secrets',
      next: 'No token opens what a task keeps for itself; "reeve alloc exec" reads it inside the task.',
    },
  },
  {
    name: 'a path that leads out of the allocation',
    thrown: refusal(403, 'Path escapes the alloc directory: ../x', STAT_FILE),
    settings: SETTINGS,
    told: {
      code: EXIT_CODES.failed,
      what: 'Path escapes the alloc directory: ../x',
      next: PATHS,
    },
  },
  {
    name: 'a path that is not in the allocation',
    thrown: refusal(404, 'open nosuch: no such file or directory', STAT_FILE),
    settings: SETTINGS,
    told: {
      code: EXIT_CODES.missing,
      what: 'open nosuch: no such file or directory',
      next: PATHS,
    },
  },
  {
    name: 'a right that reading files needs',
    thrown: refusal(403, 'Permission denied', STAT_FILE),
    settings: SETTINGS,
    told: { code: EXIT_CODES.denied, what: 'Permission denied', next: NO_TOKEN },
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
  ...[
    ['a policy', 'Change it so that the policy passes: it cannot be overridden.'],
    ['2 policies', 'Change it so that the policies pass: not all of these can be overridden.'],
  ].map(([count = '', next = '']) => ({
    name: `${count} that may not be overridden`,
    thrown: refusal(403, `job "web" is denied by ${count}:\n\t* a`),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.refusedByPolicy,
      what: `job "web" is denied by ${count}:\n\t* a`,
      next,
    },
  })),
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
    name: 'an allocation whose files its node has removed',
    thrown: refusal(404, 'state for allocation 4b7e8fb2 not found on client'),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.missing,
      what: 'state for allocation 4b7e8fb2 not found on client',
      next:
        'Its node has removed its files, as it does with ended allocations (client.gc_… in its ' +
        'configuration), or has not begun with it.',
    },
  },
  ...[
    ['a node pool', 'GET /v1/node/pool/:pool_name/jobs', 'node pool list'],
    ['a node', 'GET /v1/node/:node_id', 'node status'],
    ['a namespace', 'DELETE /v1/namespace/:namespace_name', 'namespace list'],
    ['an access policy', 'GET /v1/acl/policy/:policy_name', 'acl policy list'],
  ].map(([what, call, list]) => ({
    name: `${what}, which lies in no namespace`,
    thrown: refusal(404, 'not found', call),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.missing,
      what: 'not found',
      next: `See which there are with "reeve ${list}".`,
    },
  })),
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
    name: 'a region that the server does not know, by where it was named',
    thrown: refusal(404, 'No path to region'),
    settings: {
      ...SETTINGS,
      region: 'mars',
      sources: { ...SETTINGS.sources, region: 'REEVE_REGION' },
    },
    told: {
      code: EXIT_CODES.missing,
      what: 'No path to region',
      next: 'Region "mars" comes from REEVE_REGION; without it the server takes its own.',
    },
  },
  {
    name: 'a region that the server does not know, named by the job file alone',
    thrown: refusal(404, 'No path to region'),
    settings: SETTINGS,
    told: {
      code: EXIT_CODES.missing,
      what: 'No path to region',
      next:
        'The job file names the region; --region sends the job to another one. ' +
        '"reeve server members" shows which regions this server knows.',
    },
  },
  {
    name: 'a region that does not answer',
    thrown: refusal(503, 'region "north" did not answer (ECONNREFUSED); try again.'),
    settings: SETTINGS,
    told: {
      code: EXIT_CODES.unreachable,
      what: 'region "north" did not answer (ECONNREFUSED); try again.',
      next: '"reeve server members" shows which regions this server knows.',
    },
  },
  {
    name: 'a server that waits for its leader',
    thrown: refusal(503, 'No cluster leader'),
    settings: SETTINGS,
    told: { code: EXIT_CODES.failed, what: 'No cluster leader', next: '' },
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
    name: 'a workspace that is locked already',
    thrown: refusal(409, 'Workspace is locked already'),
    settings: WITH_TOKEN,
    told: {
      code: EXIT_CODES.conflict,
      what: 'Workspace is locked already',
      next: '"reeve workspace show WORKSPACE" tells by whom and why.',
    },
  },
  {
    name: 'a workspace that is not locked',
    thrown: refusal(409, 'Workspace is not locked'),
    settings: WITH_TOKEN,
    told: { code: EXIT_CODES.conflict, what: 'Workspace is not locked', next: '' },
  },
  {
    name: 'errors inside errors, without the empty lines between them',
    thrown: refusal(400, '1 error occurred:\n\t* a: 1 error occurred:\n\t* b\n\n\n\n\t* c\n\n'),
    settings: SETTINGS,
    told: {
      code: EXIT_CODES.failed,
      what: '1 error occurred:\n\t* a: 1 error occurred:\n\t* b\n\t* c',
      next: '',
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

for (const { text, next } of [
  { text: 'Failed to signal task: x, err: unknown signal "hup"', next: /^Signals have names/ },
  {
    text: 'Project contains 1 namespace(s); remove them first',
    next: /^"reeve project move" and /,
  },
  { text: 'Task not running', next: /^"reeve alloc status ALLOC" shows/ },
  { text: 'ACL bootstrap already done (reset index: 3)', next: /^Who has that token / },
  { text: "Query can't be blank", next: /^Give --query/ },
])
  test(`tell: a refusal with a next step: ${text}`, () => {
    assert.match(tell(refusal(400, text), SETTINGS).next, next)
  })

test('tell: where policies are to be passed over, the right to do so may be the one', () => {
  const thrown = refusal(403, 'Permission denied', 'POST /v1/job/:job_id/scale')
  const { next } = tell(thrown, WITH_TOKEN, { overridesPolicies: true })
  assert.equal(
    next,
    'The token (from --token) lacks namespace:scale-job or namespace:submit-job, or ' +
      'namespace:policy-override for --policy-override, in namespace "prod", or is not known ' +
      'there: "reeve acl token self" shows what it may do.',
  )
  // Commands call others too, which policies have no say in.
  const list = refusal(403, 'Permission denied', 'GET /v1/jobs')
  assert.deepEqual(tell(list, WITH_TOKEN, { overridesPolicies: true }), tell(list, WITH_TOKEN))
})

test('tell: what is wrong with the program itself is thrown on', () => {
  const bug = new Error('invariant broken')
  assert.throws(() => tell(bug, SETTINGS), bug)
})
