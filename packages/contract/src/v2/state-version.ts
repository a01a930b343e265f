import { Type } from 'typebox'
import { routes } from '../route.ts'
import { MapOf, Nullable, Timestamp, type Infer } from '../schema.ts'
import { jsonResponse, emptyResponse } from './answers.ts'
import { create, routeKind, list, read, upload } from './define.ts'
import {
  DocumentOf,
  ListOf,
  BinaryBody,
  BINARY_TYPE,
  OneOf,
  PageOf,
  PathLink,
  RequestOf,
  ResourceOf,
  ResourceWithId,
  SelfLink,
  ToOne,
  ToOneOrNone,
} from './json-api.ts'
import { INLINE_STATE_BYTES_MAX, LINE_LENGTH_MAX, STATE_BYTES_MAX } from './limits.ts'
import { fieldsQuery, includeQuery } from './query.ts'

export const STATE_VERSION_STATUSES = ['pending', 'finalized', 'discarded'] as const

export const STATE_VERSION_INCLUDES = ['outputs', 'created_by'] as const

/** Resources of one type in one module of a state. */
export const StateResource = Type.Object({
  name: Type.String(),
  type: Type.String(),
  module: Type.String({ description: '`root`, or the path of the module.' }),
  provider: Type.String(),
  count: Type.Integer({ minimum: 0, description: 'Instances.' }),
})
export type StateResource = Infer<typeof StateResource>

/** One version of the state of a workspace. */
export const StateVersion = ResourceOf('StateVersion', 'state-versions', {
  attributes: Type.Object({
    'created-at': Timestamp(),
    status: OneOf(STATE_VERSION_STATUSES),
    serial: Type.Integer({ minimum: 0 }),
    lineage: Nullable(Type.String()),
    md5: Type.String({ description: 'Of the state as it was uploaded, in hex.' }),
    size: Type.Integer({ minimum: 0, description: 'Bytes; 0 before the upload.' }),
    'state-version': Nullable(Type.Integer({ description: 'Version of the file format.' })),
    'tool-version': Nullable(Type.String({ description: 'Of the tool that wrote the state.' })),
    'resources-processed': Type.Boolean({ description: 'Outputs and resources can be read.' }),
    'resource-count': Type.Integer({ minimum: 0 }),
    intermediate: Type.Boolean({ description: 'Written while a run was being applied.' }),
    resources: Type.Optional(
      Type.Array(StateResource, { description: 'Only of a single version, and not too many.' }),
    ),
    modules: Type.Optional(MapOf(MapOf(Type.Integer()))),
    providers: Type.Optional(MapOf(MapOf(Type.Integer()))),
    'hosted-state-download-url': Nullable(Type.String({ description: 'Full URL.' })),
    'hosted-json-state-download-url': Nullable(Type.String({ description: 'Full URL.' })),
    'hosted-state-upload-url': Type.Optional(
      Nullable(Type.String({ description: 'Full URL; only in the answer of create.' })),
    ),
    'hosted-json-state-upload-url': Type.Optional(
      Nullable(Type.String({ description: 'Full URL; only in the answer of create.' })),
    ),
  }),
  relationships: Type.Object({
    workspace: ToOne('workspaces'),
    run: ToOneOrNone('runs'),
    'created-by': ToOne('users'),
    'rollback-state-version': ToOneOrNone('state-versions'),
    outputs: Type.Object({
      links: Type.Object({ related: PathLink() }),
      data: Type.Optional(
        Type.Array(Type.Object({ id: Type.String(), type: Type.Literal('state-version-outputs') })),
      ),
    }),
  }),
  links: SelfLink(),
})
export type StateVersion = Infer<typeof StateVersion>

export const StateVersionDocument = DocumentOf(StateVersion)

export const StateVersionPage = PageOf(StateVersion)

/** An output of a state. */
export const StateVersionOutput = ResourceWithId('StateVersionOutput', 'state-version-outputs', {
  id: Type.String({ pattern: '^wsout-[1-9A-Za-z]+-[0-9]+$' }),
  attributes: Type.Object({
    name: Type.String(),
    sensitive: Type.Boolean(),
    type: Type.String({ description: '`string`, `number`, `bool`, `array` or `map`.' }),
    'detailed-type': Type.Unknown({ description: 'The exact type, as the state has it.' }),
    value: Type.Unknown({ description: 'In lists null when it is sensitive.' }),
  }),
  links: SelfLink(),
})
export type StateVersionOutput = Infer<typeof StateVersionOutput>

export const StateVersionOutputDocument = DocumentOf(StateVersionOutput)

export const StateVersionOutputList = ListOf(StateVersionOutput)

const base64 = Type.Optional(
  Type.String({ maxLength: INLINE_STATE_BYTES_MAX, description: 'In base64.' }),
)

export const StateVersionCreateRequest = RequestOf('StateVersionCreateRequest', 'state-versions', {
  attributes: Type.Object({
    serial: Type.Integer({ minimum: 0 }),
    md5: Type.String({ pattern: '^[0-9a-fA-F]{32}$', description: 'Of the state, in hex.' }),
    lineage: Type.Optional(Nullable(Type.String({ maxLength: LINE_LENGTH_MAX }))),
    force: Type.Optional(Type.Boolean({ default: false })),
    intermediate: Type.Optional(
      Type.Boolean({ description: 'Written while the run that holds the lock is applied.' }),
    ),
    state: base64,
    'json-state': base64,
    'json-state-outputs': base64,
  }),
  relationships: Type.Optional(Type.Object({ run: Type.Optional(ToOneOrNone('runs')) })),
})
export type StateVersionCreateRequest = Infer<typeof StateVersionCreateRequest>

export const StateRollbackRequest = RequestOf('StateRollbackRequest', 'state-versions', {
  relationships: Type.Object({ 'rollback-state-version': ToOne('state-versions') }),
})

const reads = 'Permission to read the states of the workspace.'
const readsOutputs = 'Permission to read the outputs of the workspace.'
const writes = 'Permission to write the states of the workspace, and its lock.'

const notWritable =
  'The workspace is not locked by the caller, or the lineage or serial is another one.'

const one = {
  query: { ...includeQuery(STATE_VERSION_INCLUDES), ...fieldsQuery('state-versions') },
  returns: StateVersionDocument,
} as const

const download = {
  answers: { 200: { ...jsonResponse('The state.', BinaryBody), contentType: 'application/json' } },
  errors: { 404: 'The version has no such state, or the caller may not see it.' },
  needs: reads,
} as const

const puts = {
  bodyBytesMax: STATE_BYTES_MAX,
  body: BinaryBody,
  bodyType: BINARY_TYPE,
  answers: { 200: emptyResponse('Stored, or the same bytes were stored before.') },
  errors: {
    404: 'No upload has this key, or the key has expired.',
    409: 'Another state was uploaded already, or the version was discarded.',
    413: `Larger than ${STATE_BYTES_MAX} bytes; nothing is saved.`,
    422: 'Not the state that was announced; the version is discarded.',
  },
  needs: 'none',
} as const

const rollback = routeKind({ method: 'PATCH', status: 201, result: 'The new version.', query: {} })

export const stateVersionRoutes = routes('State versions', {
  createStateVersion: create('/workspaces/:workspace_id/state-versions', {
    summary: 'Create a state version; the state is in the body, or uploaded to the URLs it has.',
    bodyBytesMax: INLINE_STATE_BYTES_MAX,
    body: StateVersionCreateRequest,
    returns: StateVersionDocument,
    result: 'Created, or the existing version with this serial and md5.',
    errors: { 409: notWritable },
    needs: writes,
  }),
  rollBackState: rollback('/workspaces/:workspace_id/state-versions', {
    summary: 'Make the state of an earlier version the current one, as a new version.',
    body: StateRollbackRequest,
    returns: StateVersionDocument,
    errors: { 409: 'The workspace is not locked by the caller.' },
    needs: writes,
  }),
  listStateVersions: list('/state-versions', {
    summary: 'List the state versions of a workspace, newest first.',
    query: {
      'filter[workspace][name]': Type.String(),
      'filter[organization][name]': Type.String(),
      'filter[status]': Type.Optional(OneOf(STATE_VERSION_STATUSES)),
      ...includeQuery(STATE_VERSION_INCLUDES),
      ...fieldsQuery('state-versions'),
    },
    returns: StateVersionPage,
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
    query: fieldsQuery('state-version-outputs'),
    returns: StateVersionOutputList,
    result: 'All outputs.',
    needs: readsOutputs,
  }),
  listCurrentOutputs: read('/workspaces/:workspace_id/current-state-version-outputs', {
    summary: 'List the outputs of the current state of a workspace; sensitive values are null.',
    query: fieldsQuery('state-version-outputs'),
    returns: StateVersionOutputList,
    result: 'All outputs.',
    needs: readsOutputs,
  }),
  readStateVersionOutput: read('/state-version-outputs/:state_version_output_id', {
    summary: 'Show an output with its value, also when it is sensitive.',
    query: fieldsQuery('state-version-outputs'),
    returns: StateVersionOutputDocument,
    needs: readsOutputs,
  }),
})
