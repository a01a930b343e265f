import * as t from './json-api.ts'
import { create, list, read, upload, routes } from './define.ts'
import { ALL_ENFORCEMENT_LEVELS } from './policy.ts'

export const POLICY_SET_VERSION_STATUSES = [
  'pending',
  'ingressing',
  'ready',
  'errored',
  'canceled',
] as const

/** A policy that an archive lists. */
const VersionedPolicy = t.Object({
  name: t.String(),
  'enforcement-level': t.OneOf(ALL_ENFORCEMENT_LEVELS),
})

/**
 * The policies of a set as one archive. A set with a ready version no longer uses policy records.
 */
export const PolicySetVersion = t.ResourceOf('PolicySetVersion', 'policy-set-versions', {
  attributes: t.Object({
    source: t.String(),
    status: t.OneOf(POLICY_SET_VERSION_STATUSES),
    'status-timestamps': t.StatusTimestamps(),
    error: t.Nullable(t.String()),
    policies: t.Array(VersionedPolicy, {
      description:
        'Policies in the archive; empty unless the version is ready. Specific to this product.',
    }),
    'created-at': t.Timestamp(),
    'updated-at': t.Timestamp(),
  }),
  relationships: t.Object({ 'policy-set': t.ToOne('policy-sets') }),
  links: t.Object({
    self: t.PathLink(),
    upload: t.Optional(
      t.String({
        format: 'uri',
        description:
          'Full URL for one upload without a token, valid for an hour; only in the answer of create.',
      }),
    ),
  }),
})
export type PolicySetVersion = t.Infer<typeof PolicySetVersion>

const managers = 'Owners team, teams with Manage policies, or the organization token.'
const readers =
  'Teams with Manage policies or Read policies, owners team, or the organization token.'

const archive = {
  bodyBytesMax: t.POLICY_SET_ARCHIVE_BYTES_MAX,
  body: t.BinaryBody,
  bodyType: t.BINARY_TYPE,
  result: 'Stored; the version tells whether it is ready.',
  errors: {
    409: 'The version has an archive already.',
    413: `Larger than ${t.POLICY_SET_ARCHIVE_BYTES_MAX} bytes; nothing is saved.`,
    422: 'Not a gzipped tar archive.',
  },
} as const

export const policySetVersionRoutes = routes('Policy set versions', {
  listPolicySetVersions: list('/policy-sets/:policy_set_id/versions', {
    summary: 'List the versions of a policy set, newest first.',
    returns: PolicySetVersion,
    needs: readers,
  }),
  createPolicySetVersion: create('/policy-sets/:policy_set_id/versions', {
    summary:
      'Create a version of a policy set; its archive is uploaded to `links.upload` afterwards.',
    returns: PolicySetVersion,
    result: 'Created, pending.',
    needs: managers,
  }),
  readPolicySetVersion: read('/policy-set-versions/:policy_set_version_id', {
    summary: 'Show a version of a policy set.',
    returns: PolicySetVersion,
    needs: readers,
  }),
  uploadPolicySetVersion: upload('/policy-set-versions/:policy_set_version_id/upload', {
    summary: 'Upload the gzipped tar archive of a version, which becomes ready or errored.',
    ...archive,
    needs: managers,
  }),
  uploadKeyedPolicySetVersion: upload('/uploads/policy-set-version/:upload_key', {
    summary: 'Upload the gzipped tar archive of a version to the URL of `links.upload`.',
    ...archive,
    errors: {
      ...archive.errors,
      404: 'No upload has this key, or the key does not work any more.',
    },
    needs: 'none',
  }),
})
