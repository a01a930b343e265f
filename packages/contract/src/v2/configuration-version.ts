import * as t from './json-api.ts'
import { action, create, list, read, upload, routes } from './define.ts'

/** The parameter of paths that holds the key of an upload: a secret, in no log and no record. */
export const UPLOAD_KEY_PARAM = 'upload_key'

export const CONFIGURATION_VERSION_STATUSES = [
  'pending',
  'uploaded',
  'errored',
  'archived',
] as const

/** Where a configuration comes from: it is uploaded. */
export const CONFIGURATION_SOURCES = ['api'] as const

/** One upload of the files that runs plan. */
export const ConfigurationVersion = t.ResourceOf('ConfigurationVersion', 'configuration-versions', {
  attributes: t.Object({
    status: t.OneOf(CONFIGURATION_VERSION_STATUSES),
    'status-timestamps': t.StatusTimestamps(),
    source: t.OneOf(CONFIGURATION_SOURCES),
    'auto-queue-runs': t.Boolean({ description: 'The upload creates a run.' }),
    speculative: t.Boolean({ description: 'Its runs only plan.' }),
    provisional: t.Boolean({ description: 'Its runs save a plan that is applied later.' }),
    error: t.Nullable(t.String()),
    'error-message': t.Nullable(t.String()),
    'upload-url': t.Optional(
      t.String({ description: 'Full URL, for one upload; only in the answer of create.' }),
    ),
  }),
  relationships: t.Object({ workspace: t.ToOne('workspaces') }),
  links: t.Object({
    self: t.PathLink(),
    download: t.Optional(t.PathLink('While the archive is kept.')),
  }),
})
export type ConfigurationVersion = t.Infer<typeof ConfigurationVersion>

export const ConfigurationVersionCreateRequest = t.UpdateRequestOf(
  'ConfigurationVersionCreateRequest',
  'configuration-versions',
  {
    'auto-queue-runs': t.Boolean({ default: true }),
    speculative: t.Boolean({ default: false }),
    provisional: t.Boolean({ default: false }),
  },
)
export type ConfigurationVersionCreateRequest = t.Infer<typeof ConfigurationVersionCreateRequest>

const reads = 'Read access to the workspace.'
const plans = 'Permission to queue plans.'

export const configurationVersionRoutes = routes('Configuration versions', {
  listConfigurationVersions: list('/workspaces/:workspace_id/configuration-versions', {
    summary: 'List the configuration versions of a workspace, newest first.',
    returns: ConfigurationVersion,
    needs: reads,
  }),
  createConfigurationVersion: create('/workspaces/:workspace_id/configuration-versions', {
    summary: 'Create a configuration version; its files are uploaded to `upload-url`.',
    body: ConfigurationVersionCreateRequest,
    returns: ConfigurationVersion,
    needs: plans,
  }),
  readConfigurationVersion: read('/configuration-versions/:configuration_version_id', {
    summary: 'Show a configuration version.',
    returns: ConfigurationVersion,
    needs: reads,
  }),
  downloadConfigurationVersion: read('/configuration-versions/:configuration_version_id/download', {
    summary: 'Download the archive of a configuration version as it was uploaded.',
    answers: { 200: t.binaryResponse('The archive.') },
    errors: { 409: 'The archive was not uploaded, or is not kept any more.' },
    needs: plans,
  }),
  uploadConfigurationVersion: upload('/uploads/configuration/:upload_key', {
    summary: 'Upload the archive of a configuration version, a gzipped tar file.',
    bodyBytesMax: t.CONFIGURATION_BYTES_MAX,
    body: t.BinaryBody,
    bodyType: t.BINARY_TYPE,
    answers: { 200: t.emptyResponse('Stored: the configuration version is `uploaded`.') },
    errors: {
      404: 'No upload has this key, or the key has expired.',
      409: 'The archive was uploaded already.',
      413: `Larger than ${t.CONFIGURATION_BYTES_MAX} bytes; nothing is saved.`,
      422: 'Not a gzipped tar file of safe paths; the configuration version is `errored`.',
    },
    needs: 'none',
  }),
  archiveConfigurationVersion: action(
    '/configuration-versions/:configuration_version_id/actions/archive',
    {
      summary: 'Delete the archive of a configuration version and keep its record.',
      growsState: false,
      answers: { 202: t.emptyResponse('Archived.') },
      errors: { 409: 'It is the latest one, not uploaded, or an open run uses it.' },
      needs: plans,
    },
  ),
})
