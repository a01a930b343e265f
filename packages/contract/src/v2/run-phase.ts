import * as t from './json-api.ts'
import { action, read, upload, routes } from './define.ts'

/** The two halves of an executed run; each is a batch job. */
export const RUN_PHASES = ['plan', 'apply'] as const
export type RunPhaseName = (typeof RUN_PHASES)[number]

/** Files that a plan produces for the apply and for users, by the last segment of their path. */
export const RUN_FILES = [
  'plan',
  'plan-json',
  'redacted-plan',
  'lock-file',
  'errored-state',
] as const
export type RunFileName = (typeof RUN_FILES)[number]

export const PHASE_OUTCOMES = ['finished', 'errored', 'canceled'] as const
export type PhaseOutcome = (typeof PHASE_OUTCOMES)[number]

export const PHASE_CANCELLATIONS = ['none', 'interrupt', 'kill'] as const
export type PhaseCancellation = (typeof PHASE_CANCELLATIONS)[number]

/** The runner presents the ticket of its job once and chooses the token for all later requests. */
export const PhaseStartRequest = t.Named('PhaseStartRequest', {
  ticket: t.String({ maxLength: t.LINE_LENGTH_MAX }),
  token: t.String({ minLength: 32, maxLength: t.LINE_LENGTH_MAX }),
})
export type PhaseStart = t.Infer<typeof PhaseStartRequest>

/** An input variable of the configuration, or a variable of the environment. */
export const PhaseVariable = t.Named('PhaseVariable', {
  key: t.String(),
  value: t.String(),
  category: t.OneOf(['input', 'env']),
  hcl: t.Boolean(),
  sensitive: t.Boolean(),
})
export type PhaseVariable = t.Infer<typeof PhaseVariable>

/** Input of a runner; files are fetched separately. */
export const PhaseDocument = t.Named('PhaseDocument', {
  phase: t.OneOf(RUN_PHASES),
  runId: t.String(),
  organization: t.String(),
  project: t.String(),
  workspace: t.String(),
  workingDirectory: t.Nullable(t.String()),
  structuredOutput: t.Boolean(),
  isDestroy: t.Boolean(),
  refresh: t.Boolean(),
  refreshOnly: t.Boolean(),
  allowConfigGeneration: t.Boolean(),
  // Absent if the server is of an earlier version than the runner.
  host: t.Optional(
    t.Nullable(t.String({ description: 'Host name and port by which clients know the server.' })),
  ),
  targets: t.Array(t.String()),
  replacements: t.Array(t.String()),
  variables: t.Array(PhaseVariable),
})
export type PhaseDocument = t.Infer<typeof PhaseDocument>

export const PhaseControl = t.Named('PhaseControl', { cancellation: t.OneOf(PHASE_CANCELLATIONS) })
export type PhaseControl = t.Infer<typeof PhaseControl>

export const PhaseFinishRequest = t.Named('PhaseFinishRequest', {
  outcome: t.OneOf(PHASE_OUTCOMES),
  message: t.Nullable(t.String({ maxLength: t.LINE_LENGTH_MAX })),
  logBytes: t.Integer({ minimum: 0 }),
  generatedConfiguration: t.Optional(t.Boolean()),
  stateUncertain: t.Optional(
    t.Boolean({ description: 'The tool was killed: what it was doing is not in the state.' }),
  ),
})
export type PhaseFinishRequest = t.Infer<typeof PhaseFinishRequest>

const needs = 'The token of the phase, which its runner chose when it started.'
const gone = 'The phase is over, or the token is not its token.'

/** Routes that the runner of a phase calls from its node. */
export const runPhaseRoutes = routes('Run phases', {
  startRunPhase: action('/run-phases/:phase_id/start', {
    summary:
      'Exchange the ticket of a phase for its document. Another token is rejected afterwards.',
    audit: 'none',
    answeredBy: 'leader',
    body: PhaseStartRequest,
    returns: PhaseDocument,
    errors: { 404: 'No such ticket, or it was used with another token.' },
    needs: 'The ticket, which is in the job of the phase.',
  }),
  readPhaseConfiguration: read('/run-phases/:phase_id/configuration', {
    summary: 'Download the configuration of the run.',
    answers: { 200: t.binaryResponse('The archive.') },
    errors: { 404: gone },
    needs,
  }),
  readPhaseState: read('/run-phases/:phase_id/state', {
    summary: 'Download the current state of the workspace.',
    answers: {
      200: t.binaryResponse('The state.'),
      204: t.emptyResponse('The workspace has no state.'),
    },
    errors: { 404: gone },
    needs,
  }),
  writePhaseState: upload('/run-phases/:phase_id/state', {
    summary:
      'Store the state that an apply has reached. The same serial and bytes are stored once.',
    ...t.storesBinary(t.RUN_STATE_BYTES_MAX),
    errors: { 404: gone, 409: 'The state does not follow the current one.' },
    needs,
  }),
  readRemoteState: read('/run-phases/:phase_id/remote-states/:workspace_name', {
    summary: 'Download the outputs of another workspace, as a state without resources.',
    answers: {
      200: t.binaryResponse('The outputs, sensitive ones included.'),
      204: t.emptyResponse('The workspace has no state.'),
    },
    errors: { 403: 'The workspace does not exist, or does not share its outputs.', 404: gone },
    needs,
  }),
  readPhaseFile: read('/run-phases/:phase_id/files/:file_name', {
    summary: 'Download a file that the plan left.',
    answers: {
      200: t.binaryResponse('The file.'),
      204: t.emptyResponse('The plan left no such file.'),
    },
    errors: { 404: gone },
    needs,
  }),
  writePhaseFile: upload('/run-phases/:phase_id/files/:file_name', {
    summary: 'Store a file of the run.',
    ...t.storesBinary(t.PLAN_UPLOAD_BYTES_MAX),
    errors: { 404: gone, 422: 'The plan is not the JSON export of a plan.' },
    needs,
  }),
  writePhaseLog: upload('/run-phases/:phase_id/log', {
    summary: 'Append to the log. Bytes that are already stored are skipped.',
    query: { offset: t.Integer({ minimum: 0 }) },
    ...t.storesBinary(t.RUN_LOG_CHUNK_BYTES_MAX),
    errors: { 404: gone, 409: 'Bytes are missing before the offset.' },
    needs,
  }),
  readPhaseControl: read('/run-phases/:phase_id/control', {
    summary: 'Wait until the phase is to be canceled.',
    query: {
      wait: t.Optional(t.Integer({ minimum: 0, maximum: 60 })),
      known: t.Optional(t.OneOf(PHASE_CANCELLATIONS)),
    },
    returns: PhaseControl,
    result: 'Whether the phase is to be canceled.',
    errors: { 404: gone },
    needs,
  }),
  finishRunPhase: action('/run-phases/:phase_id/finish', {
    summary: 'Report how the phase ended, when its log and files are stored.',
    audit: 'none',
    answeredBy: 'leader',
    body: PhaseFinishRequest,
    answers: { 204: t.emptyResponse('Recorded; the run has moved on.') },
    errors: { 404: gone, 409: 'The log is not complete.', 422: 'A finished plan needs its JSON.' },
    needs,
  }),
})
