import assert from 'node:assert/strict'
import test from 'node:test'
import type { v2 } from '@reeve/contract'
import { ApiError, ConnectionError, type ConnectionFailure } from '@reeve/sdk'
import { describeError } from './describe-error.ts'
import { CommandError, EXIT_CODES, UsageError } from './errors.ts'
import type { ConnectionSettings } from './settings/settings.ts'

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

interface ErrorParts {
  readonly status: number
  readonly code: string
  readonly text?: string
  readonly call?: string
  readonly errors?: readonly v2.ErrorObject[]
}

function apiError(parts: ErrorParts): ApiError {
  const { status, code, text = 'said the server', call = 'POST /v1/jobs', errors = [] } = parts
  const [method = '', path = ''] = call.split(' ')
  const none = { requestId: undefined, index: undefined, retryAfterMs: undefined }
  return new ApiError({ route: { method, path }, status, code, text, errors, ...none })
}

function connectionError(reason: ConnectionFailure, message: string): ConnectionError {
  return new ConnectionError({ reason, address: '', message })
}

const LATE = 'http://a did not answer within 60 s. Try again, or raise timeoutMs.'

/** Errors of this program and of the connection, with the whole report. */
const local = [
  {
    name: 'a mistake of the command line',
    thrown: new UsageError('--tail needs a whole number.'),
    report: { exitCode: EXIT_CODES.usage, message: '--tail needs a whole number.', hint: '' },
  },
  {
    name: 'a failure with a hint',
    thrown: new CommandError('No.', { code: EXIT_CODES.missing, hint: 'Look.' }),
    report: { exitCode: EXIT_CODES.missing, message: 'No.', hint: 'Look.' },
  },
  {
    name: 'no server',
    thrown: connectionError('unreachable', 'connection refused'),
    report: {
      exitCode: EXIT_CODES.unreachable,
      message: 'Cannot connect to the server at http://127.0.0.1:4646 (from REEVE_ADDR).',
      hint: 'Start one with "reeve agent --dev", or set another address with --address or REEVE_ADDR.',
    },
  },
  {
    name: 'another kind of server',
    thrown: connectionError('wrong-scheme', 'the server does not speak https. Use http.'),
    report: {
      exitCode: EXIT_CODES.unreachable,
      message: 'the server does not speak https. Use http.',
      hint: '',
    },
  },
  {
    name: 'a server that rejects the certificate',
    thrown: connectionError('certificate-rejected', 'the connection was cut.'),
    report: {
      exitCode: EXIT_CODES.unreachable,
      message: 'the connection was cut.',
      hint: 'Set one with --client-cert and --client-key, or REEVE_CLIENT_CERT and REEVE_CLIENT_KEY.',
    },
  },
  {
    name: 'a server whose certificate is not trusted',
    thrown: connectionError('untrusted', 'its certificate has expired.'),
    report: {
      exitCode: EXIT_CODES.unreachable,
      message: 'its certificate has expired.',
      hint:
        'Set --ca-cert or REEVE_CACERT to the authority that signed it, --tls-server-name or ' +
        'REEVE_TLS_SERVER_NAME to the name it was issued for.',
    },
  },
  {
    name: 'a timeout',
    thrown: connectionError('timeout', LATE),
    report: {
      exitCode: EXIT_CODES.unreachable,
      message: 'http://a did not answer within 60 s.',
      hint: 'Retry, or set another server with --address or REEVE_ADDR.',
    },
  },
  {
    name: 'a timeout for another region',
    thrown: connectionError('timeout', LATE),
    settings: { ...SETTINGS, region: 'eu' },
    report: {
      exitCode: EXIT_CODES.unreachable,
      message: 'Request for region "eu": http://a did not answer within 60 s.',
      hint:
        '"reeve server members" lists the regions that this server knows. ' +
        '--address or REEVE_ADDR can name a server of region "eu".',
    },
  },
  {
    name: 'nested errors, without the empty lines between them',
    thrown: apiError({
      status: 400,
      code: 'job-invalid',
      text: '1 error occurred:\n\t* a: 1 error occurred:\n\t* b\n\n\n\n\t* c\n\n',
    }),
    report: {
      exitCode: EXIT_CODES.failed,
      message: '1 error occurred:\n\t* a: 1 error occurred:\n\t* b\n\t* c',
      hint: '',
    },
  },
  {
    name: 'an error without a text',
    thrown: apiError({ status: 500, code: 'internal-error', text: '' }),
    report: { exitCode: EXIT_CODES.failed, message: 'POST /v1/jobs: 500', hint: '' },
  },
]

for (const { name, thrown, settings = SETTINGS, report } of local)
  test(`describeError: ${name}`, () => {
    assert.deepEqual(describeError(thrown, settings), report)
  })

const NO_TOKEN = /^No token was sent\. Run "reeve login", or set --token or REEVE_TOKEN\.$/
const READ_FILE = 'GET /v1/client/fs/stat/:alloc_id'

/** Errors of the server: exit code and hint, by code, status, route and settings. */
const remote: readonly (readonly [
  error: ErrorParts,
  settings: ConnectionSettings,
  exitCode: number,
  hint: RegExp,
])[] = [
  [{ status: 404, code: 'job-version-not-found' }, WITH_TOKEN, EXIT_CODES.missing, /job history/],
  [
    { status: 403, code: 'permission-denied', call: 'GET /v1/acl/token/self' },
    WITH_TOKEN,
    EXIT_CODES.denied,
    /^The token \(from --token\) is unknown or has expired\. Run "reeve login" to store another\.$/,
  ],
  [{ status: 403, code: 'permission-denied' }, SETTINGS, EXIT_CODES.denied, NO_TOKEN],
  [
    { status: 403, code: 'permission-denied', call: 'GET /v1/jobs' },
    WITH_TOKEN,
    EXIT_CODES.denied,
    /^The token \(from --token\) lacks namespace:list-jobs in namespace "prod", or is unknown\. /,
  ],
  [{ status: 403, code: 'secret-file', call: READ_FILE }, WITH_TOKEN, EXIT_CODES.failed, /^Secret/],
  [{ status: 403, code: 'path-outside-allocation' }, SETTINGS, EXIT_CODES.failed, /^Paths are/],
  [{ status: 403, code: 'file-forbidden' }, SETTINGS, EXIT_CODES.failed, /^Paths are/],
  [{ status: 404, code: 'file-not-found' }, SETTINGS, EXIT_CODES.missing, /^Paths are/],
  [
    { status: 403, code: 'permission-denied', call: READ_FILE },
    SETTINGS,
    EXIT_CODES.denied,
    NO_TOKEN,
  ],
  [
    { status: 403, code: 'policy-denied-overridable' },
    WITH_TOKEN,
    EXIT_CODES.refusedByPolicy,
    /or repeat the command with --policy-override\.$/,
  ],
  [
    { status: 403, code: 'policy-denied' },
    WITH_TOKEN,
    EXIT_CODES.refusedByPolicy,
    /^This denial cannot be overridden/,
  ],
  [
    { status: 404, code: 'job-not-found' },
    WITH_TOKEN,
    EXIT_CODES.missing,
    /^Searched namespace "prod"; set another with --namespace or REEVE_NAMESPACE\.$/,
  ],
  [
    { status: 404, code: 'allocation-not-on-node' },
    WITH_TOKEN,
    EXIT_CODES.missing,
    /^Its node removed/,
  ],
  [
    { status: 404, code: 'node-pool-not-found', call: 'GET /v1/node/pool/:pool_name/jobs' },
    WITH_TOKEN,
    EXIT_CODES.missing,
    /"reeve node pool list"/,
  ],
  [
    { status: 404, code: 'node-not-found', call: 'GET /v1/node/:node_id' },
    WITH_TOKEN,
    EXIT_CODES.missing,
    /"reeve node status"/,
  ],
  [
    { status: 404, code: 'not-found', call: 'GET /api/v2/projects/:project_id' },
    WITH_TOKEN,
    EXIT_CODES.missing,
    /^It does not exist, or the token may not see it\.$/,
  ],
  [
    { status: 404, code: 'region-unknown' },
    { ...SETTINGS, region: 'mars', sources: { ...SETTINGS.sources, region: 'REEVE_REGION' } },
    EXIT_CODES.missing,
    /^Region "mars" was set by REEVE_REGION/,
  ],
  [{ status: 404, code: 'region-unknown' }, SETTINGS, EXIT_CODES.missing, /^The job file sets/],
  [{ status: 503, code: 'region-unreached' }, SETTINGS, EXIT_CODES.unreachable, /server members/],
  [{ status: 503, code: 'no-leader' }, SETTINGS, EXIT_CODES.failed, /^$/],
  [{ status: 400, code: 'acl-disabled' }, WITH_TOKEN, EXIT_CODES.failed, /^ACLs are disabled/],
  [{ status: 409, code: 'index-conflict' }, WITH_TOKEN, EXIT_CODES.conflict, /^It was modified/],
  [
    { status: 409, code: 'workspace-locked' },
    WITH_TOKEN,
    EXIT_CODES.conflict,
    /^"reeve workspace show/,
  ],
  [{ status: 409, code: 'workspace-not-locked' }, WITH_TOKEN, EXIT_CODES.conflict, /^$/],
  [{ status: 400, code: 'signal-unknown' }, SETTINGS, EXIT_CODES.failed, /^Signals have names/],
  [{ status: 400, code: 'task-not-running' }, SETTINGS, EXIT_CODES.failed, /alloc status ALLOC/],
  [{ status: 400, code: 'bootstrap-done' }, SETTINGS, EXIT_CODES.failed, /^Whoever has the boot/],
  [{ status: 400, code: 'unknown-namespace' }, SETTINGS, EXIT_CODES.failed, /namespace list/],
  [{ status: 400, code: 'dispatch-meta-invalid' }, SETTINGS, EXIT_CODES.failed, /--meta KEY=VALUE/],
  [
    { status: 400, code: 'override-comment-required' },
    SETTINGS,
    EXIT_CODES.failed,
    /--override-comment/,
  ],
  [{ status: 422, code: 'project-not-empty' }, SETTINGS, EXIT_CODES.failed, /"reeve project move"/],
  [
    {
      status: 422,
      code: 'invalid-attribute',
      errors: [
        {
          status: '422',
          title: 'invalid attribute',
          detail: "Query can't be blank",
          source: { pointer: '/data/attributes/query' },
        },
      ],
    },
    SETTINGS,
    EXIT_CODES.failed,
    /^Set --query/,
  ],
]

for (const [error, settings, exitCode, hint] of remote) {
  const who = settings === WITH_TOKEN ? 'with a token' : 'without a token'
  test(`describeError: ${error.code} of ${error.call ?? 'POST /v1/jobs'}, ${who}`, () => {
    const report = describeError(apiError(error), settings)
    assert.equal(report.message, 'said the server')
    assert.equal(report.exitCode, exitCode)
    assert.match(report.hint, hint)
  })
}

test('describeError: an override may lack the capability for it', () => {
  const denied = { status: 403, code: 'permission-denied' }
  const scale = apiError({ ...denied, call: 'POST /v1/job/:job_id/scale' })
  assert.equal(
    describeError(scale, WITH_TOKEN, { overridesPolicies: true }).hint,
    'The token (from --token) lacks namespace:scale-job or namespace:submit-job, or ' +
      'namespace:policy-override for --policy-override in namespace "prod", or is unknown. ' +
      '"reeve acl token self" shows what it may do.',
  )
  // Commands call other routes too, for which policies do not matter.
  const list = apiError({ ...denied, call: 'GET /v1/jobs' })
  assert.deepEqual(
    describeError(list, WITH_TOKEN, { overridesPolicies: true }),
    describeError(list, WITH_TOKEN),
  )
})

test('describeError: a bug of the program is rethrown', () => {
  const bug = new Error('invariant broken')
  assert.throws(() => describeError(bug, SETTINGS), bug)
})
