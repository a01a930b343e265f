import * as t from './json-api.ts'
import { create, routeKind, list, read, upload, routes } from './define.ts'

export const STATE_VERSION_STATUSES = ['pending', 'finalized', 'discarded'] as const

export const STATE_VERSION_INCLUDES = ['outputs', 'created_by'] as const

/** Resources of one type in one module of a state. */
export const StateResource = t.Object({
  name: t.String(),
  type: t.String(),
  module: t.String({ description: '`root`, or the path of the module.' }),
  provider: t.String(),
  count: t.Integer({ minimum: 0, description: 'Instances.' }),
})
export type StateResource = t.Infer<typeof StateResource>

/** One version of the state of a workspace. */
export const StateVersion = t.ResourceOf('StateVersion', 'state-versions', {
  attributes: t.Object({
    'created-at': t.Timestamp(),
    status: t.OneOf(STATE_VERSION_STATUSES),
    serial: t.Integer({ minimum: 0 }),
    lineage: t.Nullable(t.String()),
    md5: t.String({ description: 'Of the state as it was uploaded, in hex.' }),
    size: t.Integer({ minimum: 0, description: 'Bytes; 0 before the upload.' }),
    'state-version': t.Nullable(t.Integer({ description: 'Version of the file format.' })),
    'tool-version': t.Nullable(t.String({ description: 'Of the tool that wrote the state.' })),
    'resources-processed': t.Boolean({ description: 'Outputs and resources can be read.' }),
    'resource-count': t.Integer({ minimum: 0 }),
    intermediate: t.Boolean({ description: 'Written while a run was being applied.' }),
    resources: t.Optional(
      t.Array(StateResource, { description: 'Only of a single version, and not too many.' }),
    ),
    modules: t.Optional(t.MapOf(t.MapOf(t.Integer()))),
    providers: t.Optional(t.MapOf(t.MapOf(t.Integer()))),
    'hosted-state-download-url': t.Nullable(t.String({ description: 'Full URL.' })),
    'hosted-json-state-download-url': t.Nullable(t.String({ description: 'Full URL.' })),
    'hosted-state-upload-url': t.Optional(
      t.Nullable(t.String({ description: 'Full URL; only in the answer of create.' })),
    ),
    'hosted-json-state-upload-url': t.Optional(
      t.Nullable(t.String({ description: 'Full URL; only in the answer of create.' })),
    ),
  }),
  relationships: t.Object({
    workspace: t.ToOne('workspaces'),
    run: t.ToOneOrNone('runs'),
    'created-by': t.ToOne('users'),
    'rollback-state-version': t.ToOneOrNone('state-versions'),
    outputs: t.Object({
      links: t.Object({ related: t.PathLink() }),
      data: t.Optional(
        t.Array(t.Object({ id: t.String(), type: t.Literal('state-version-outputs') })),
      ),
    }),
  }),
  links: t.SelfLink(),
})
export type StateVersion = t.Infer<typeof StateVersion>

/** An output of a state. */
export const StateVersionOutput = t.ResourceWithId('StateVersionOutput', 'state-version-outputs', {
  id: t.String({ pattern: '^wsout-[1-9A-Za-z]+-[0-9]+$' }),
  attributes: t.Object({
    name: t.String(),
    sensitive: t.Boolean(),
    type: t.String({ description: '`string`, `number`, `bool`, `array` or `map`.' }),
    'detailed-type': t.Unknown({ description: 'The exact type, as the state has it.' }),
    value: t.Unknown({ description: 'In lists null when it is sensitive.' }),
  }),
  links: t.SelfLink(),
})
export type StateVersionOutput = t.Infer<typeof StateVersionOutput>

export const StateVersionOutputList = t.ListOf(StateVersionOutput)

const base64 = t.Optional(
  t.String({ maxLength: t.INLINE_STATE_BYTES_MAX, description: 'In base64.' }),
)

export const StateVersionCreateRequest = t.RequestOf(
  'StateVersionCreateRequest',
  'state-versions',
  {
    attributes: t.Object({
      serial: t.Integer({ minimum: 0 }),
      md5: t.String({ pattern: '^[0-9a-fA-F]{32}$', description: 'Of the state, in hex.' }),
      lineage: t.Optional(t.Nullable(t.String({ maxLength: t.LINE_LENGTH_MAX }))),
      force: t.Optional(t.Boolean({ default: false })),
      intermediate: t.Optional(
        t.Boolean({ description: 'Written while the run that holds the lock is applied.' }),
      ),
      state: base64,
      'json-state': base64,
      'json-state-outputs': base64,
    }),
    relationships: t.Optional(t.Object({ run: t.Optional(t.ToOneOrNone('runs')) })),
  },
)
export type StateVersionCreateRequest = t.Infer<typeof StateVersionCreateRequest>

export const StateRollbackRequest = t.RequestOf('StateRollbackRequest', 'state-versions', {
  relationships: t.Object({ 'rollback-state-version': t.ToOne('state-versions') }),
})

const reads = 'Permission to read the states of the workspace.'
const readsOutputs = 'Permission to read the outputs of the workspace.'
const writes = 'Permission to write the states of the workspace, and its lock.'

const notWritable =
  'The workspace is not locked by the caller, or the lineage or serial is another one.'

const one = {
  query: { ...t.includeQuery(STATE_VERSION_INCLUDES), ...t.fieldsQuery('state-versions') },
  returns: StateVersion,
} as const

const download = {
  answers: {
    200: { ...t.jsonResponse('The state.', t.BinaryBody), contentType: 'application/json' },
  },
  errors: { 404: 'The version has no such state, or the caller may not see it.' },
  needs: reads,
} as const

const puts = {
  bodyBytesMax: t.STATE_BYTES_MAX,
  body: t.BinaryBody,
  bodyType: t.BINARY_TYPE,
  answers: { 200: t.emptyResponse('Stored, or the same bytes were stored before.') },
  errors: {
    404: 'No upload has this key, or the key has expired.',
    409: 'Another state was uploaded already, or the version was discarded.',
    413: `Larger than ${t.STATE_BYTES_MAX} bytes; nothing is saved.`,
    422: 'Not the state that was announced; the version is discarded.',
  },
  needs: 'none',
} as const

const rollback = routeKind({ method: 'PATCH', status: 201, result: 'The new version.', query: {} })

export const stateVersionRoutes = routes('State versions', {
  createStateVersion: create('/workspaces/:workspace_id/state-versions', {
    summary: 'Create a state version; the state is in the body, or uploaded to the URLs it has.',
    bodyBytesMax: t.INLINE_STATE_BYTES_MAX,
    body: StateVersionCreateRequest,
    returns: StateVersion,
    result: 'Created, or the existing version with this serial and md5.',
    errors: { 409: notWritable },
    needs: writes,
  }),
  rollBackState: rollback('/workspaces/:workspace_id/state-versions', {
    summary: 'Make the state of an earlier version the current one, as a new version.',
    body: StateRollbackRequest,
    returns: StateVersion,
    errors: { 409: 'The workspace is not locked by the caller.' },
    needs: writes,
  }),
  listStateVersions: list('/state-versions', {
    summary: 'List the state versions of a workspace, newest first.',
    query: {
      'filter[workspace][name]': t.String(),
      'filter[organization][name]': t.String(),
      'filter[status]': t.Optional(t.OneOf(STATE_VERSION_STATUSES)),
      ...t.includeQuery(STATE_VERSION_INCLUDES),
    },
    returns: StateVersion,
    errors: {
      404: 'Workspace not found, or the caller may not see its states.',
      422: 'One of the two names is not given.',
    },
    needs: reads,
  }),
  readCurrentStateVersion: read('/workspaces/:workspace_id/current-state-version', {
    summary: 'Show the newest finalized state version of a workspace.',
    ...one,
    needs: reads,
  }),
  readStateVersion: read('/state-versions/:state_version_id', {
    summary: 'Show a state version.',
    ...one,
    needs: reads,
  }),
  downloadState: read('/state-versions/:state_version_id/download', {
    summary: 'Download a state as it was uploaded.',
    ...download,
  }),
  downloadJsonState: read('/state-versions/:state_version_id/json-download', {
    summary: 'Download a state in its documented JSON form, where it was uploaded.',
    ...download,
  }),
  uploadState: upload('/uploads/state/:upload_key', {
    summary: 'Upload the state of a state version.',
    ...puts,
  }),
  uploadJsonState: upload('/uploads/json-state/:upload_key', {
    summary: 'Upload the documented JSON form of a state.',
    ...puts,
  }),
  listStateVersionOutputs: read('/state-versions/:state_version_id/outputs', {
    summary: 'List the outputs of a state version; sensitive values are null.',
    query: t.fieldsQuery('state-version-outputs'),
    returns: StateVersionOutputList,
    result: 'All outputs.',
    needs: readsOutputs,
  }),
  listCurrentOutputs: read('/workspaces/:workspace_id/current-state-version-outputs', {
    summary: 'List the outputs of the current state of a workspace; sensitive values are null.',
    query: t.fieldsQuery('state-version-outputs'),
    returns: StateVersionOutputList,
    result: 'All outputs.',
    needs: readsOutputs,
  }),
  readStateVersionOutput: read('/state-version-outputs/:state_version_output_id', {
    summary: 'Show an output with its value, also when it is sensitive.',
    returns: StateVersionOutput,
    needs: readsOutputs,
  }),
})
