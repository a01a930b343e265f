import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list, put, remove, blockingRead } from './define.ts'
import {
  Index,
  MapOf,
  Named,
  Nanoseconds,
  Nullable,
  type DeepReadonly,
  type Input,
  type Infer,
} from '../schema.ts'
import { AllocationStub } from './allocation.ts'
import { emptyResponse, jsonResponse, textError, nodeTimeout } from './shared-schemas.ts'
import { Constraint } from './constraint.ts'
import { FlagParameter, prefixQuery, TextParameter } from './query.ts'

export const HOST_VOLUME_STATES = ['pending', 'ready', 'unavailable'] as const
export type HostVolumeState = (typeof HOST_VOLUME_STATES)[number]

export const HOST_VOLUME_ACCESS_MODES = [
  'single-node-reader-only',
  'single-node-writer',
  'single-node-single-writer',
  'single-node-multi-writer',
] as const
export type HostVolumeAccessMode = (typeof HOST_VOLUME_ACCESS_MODES)[number]

export const VOLUME_ATTACHMENT_MODES = ['file-system', 'block-device'] as const
export type VolumeAttachmentMode = (typeof VOLUME_ATTACHMENT_MODES)[number]

/** The plugin that every agent has: it makes a directory. */
export const BUILT_IN_VOLUME_PLUGIN = 'mkdir'

/** A node says which volume plugins it has by attributes of the form `<prefix><name>.version`. */
export const VOLUME_PLUGIN_ATTRIBUTE = {
  prefix: 'plugins.host_volume.',
  suffix: '.version',
} as const

export const VolumeCapability = Named('VolumeCapability', {
  AttachmentMode: Type.String({ description: '`file-system` or `block-device`.' }),
  AccessMode: Type.String({
    description:
      '`single-node-reader-only`, `single-node-writer`, `single-node-single-writer` or ' +
      '`single-node-multi-writer`.',
  }),
})
export type VolumeCapability = Infer<typeof VolumeCapability>

const stubFields = {
  Namespace: Type.String(),
  ID: Type.String({ description: 'A UUID that the servers choose.' }),
  Name: Type.String({ description: 'What the `source` of a group names; unique on its node.' }),
  PluginID: Type.String({ description: 'The plugin that made it; empty when it was registered.' }),
  NodePool: Type.String(),
  NodeID: Type.String(),
  CapacityBytes: Type.Integer({ minimum: 0, description: 'As the plugin has made it.' }),
  State: Type.String({ description: '`pending`, `ready` or `unavailable`.' }),
  CreateIndex: Index(),
  CreateTime: Nanoseconds(),
  ModifyIndex: Index(),
  ModifyTime: Nanoseconds(),
}

const volumeFields = {
  ...stubFields,
  Constraints: Nullable(
    Type.Array(Constraint, { description: 'What the node of a new volume must meet.' }),
  ),
  RequestedCapacityMinBytes: Type.Integer({ minimum: 0 }),
  RequestedCapacityMaxBytes: Type.Integer({ minimum: 0, description: '0 is any size.' }),
  RequestedCapabilities: Nullable(
    Type.Array(VolumeCapability, { description: 'How groups may use it; any of these.' }),
  ),
  Parameters: Nullable(MapOf(Type.String())),
  HostPath: Type.String({ description: 'Where it is on its node.' }),
}

export const HostVolumeStub = Named(
  'HostVolumeStub',
  'A dynamic host volume in a list.',
  stubFields,
)
export type HostVolumeStub = Infer<typeof HostVolumeStub>

export const HostVolumeRecord = Type.Object(volumeFields, {
  $id: 'HostVolumeRecord',
  description: 'A directory of one node that jobs may mount, made or registered by a request.',
})
type RecordShape = Infer<typeof HostVolumeRecord>

/** As it is stored: the state is one of those that there are. */
export type HostVolumeRecord = Omit<RecordShape, 'State'> & { readonly State: HostVolumeState }

export const HostVolume = Named('HostVolume', 'A dynamic host volume with what uses it.', {
  ...volumeFields,
  Allocations: Type.Array(AllocationStub, {
    description: 'Those that mount it and have not ended.',
  }),
})
export type HostVolume = Infer<typeof HostVolume>

export const HostVolumeRequest = Named('HostVolumeRequest', {
  Volume: HostVolumeRecord,
  PolicyOverride: Type.Boolean({ description: 'Not used.' }),
})
/** A volume in a request; omitted fields have their defaults. */
export type HostVolumeInput = Input<DeepReadonly<RecordShape>>

export const HostVolumeResponse = Named('HostVolumeResponse', {
  Volume: HostVolume,
  Warnings: Type.String(),
})
export type HostVolumeResponse = Infer<typeof HostVolumeResponse>

export const VolumePlugin = Named('VolumePlugin', {
  ID: Type.String({ description: 'The `PluginID` of volumes that it makes.' }),
  Type: Type.String({ description: '`host`.' }),
  Versions: Type.Array(Type.String(), { description: 'Those that nodes have, sorted.' }),
  NodesExpected: Type.Integer({ description: 'Nodes that have it.' }),
  NodesHealthy: Type.Integer({ description: 'Of those, the ones that are ready.' }),
})
export type VolumePlugin = Infer<typeof VolumePlugin>

const type = TextParameter('`host`, or `csi`, of which there are none.')
const unknownVolume = textError('`host volume not found`')
const nodeRefusals = {
  404: textError('The volume that is changed or its node is unknown.'),
  504: nodeTimeout,
}

export const hostVolumeRoutes = routes('Volumes', {
  listVolumes: list('/volumes', {
    summary: 'List dynamic host volumes.',
    cost: 2,
    query: {
      type,
      node_id: TextParameter('Those of this node.'),
      node_pool: TextParameter('Those of nodes of this pool.'),
      plugin_id: TextParameter('Those of this plugin.'),
    },
    returns: jsonResponse(Type.Array(HostVolumeStub), 'Those that the token may read, by id.'),
    errors: { 400: 'The type is unknown, or the filter is wrong.' },
    needs: 'namespace:host-volume-read',
  }),
  listVolumePlugins: blockingRead('/plugins', {
    summary: 'List the plugins by which nodes make volumes.',
    cost: 2,
    query: { type, prefix: prefixQuery },
    returns: jsonResponse(Type.Array(VolumePlugin), 'The plugins, by name.'),
    errors: { 400: 'The type is unknown.' },
    needs: 'plugin:list',
  }),
  readHostVolume: blockingRead('/volume/host/:volume_id', {
    summary: 'Read one dynamic host volume.',
    returns: jsonResponse(HostVolume, 'The volume.'),
    answers: { 404: unknownVolume },
    needs: 'namespace:host-volume-read',
  }),
  createHostVolume: put('/volume/host/create', {
    summary: 'Make a volume on a node by one of its plugins, or change one.',
    answeredBy: 'leader',
    body: HostVolumeRequest,
    returns: jsonResponse(HostVolumeResponse, 'The volume, on the node that was chosen for it.'),
    answers: nodeRefusals,
    errors: {
      400: 'The volume is invalid, no node takes it, or its plugin has failed.',
      409: 'The volume was changed meanwhile.',
    },
    needs: 'namespace:host-volume-create',
  }),
  registerHostVolume: put('/volume/host/register', {
    summary: 'Make a directory that a node has already a volume.',
    answeredBy: 'leader',
    body: HostVolumeRequest,
    returns: jsonResponse(HostVolumeResponse, 'The volume.'),
    answers: nodeRefusals,
    errors: {
      400: 'The volume is invalid, or its node does not have the directory.',
      409: 'The volume was changed meanwhile.',
    },
    needs: 'namespace:host-volume-register',
  }),
  deleteHostVolume: remove('/volume/host/:volume_id', {
    summary: 'Delete a volume that nothing mounts, with its data when a plugin made it.',
    answeredBy: 'leader',
    query: {
      force: FlagParameter(
        'Delete even if the node is unreachable; its data may remain on the node.',
      ),
    },
    returns: emptyResponse('The volume is deleted.'),
    answers: { 404: unknownVolume, 504: nodeTimeout },
    errors: { 400: 'Its plugin has failed.', 409: 'Allocations mount the volume.' },
    needs: 'namespace:host-volume-delete',
  }),
  deleteHostVolumeByAction: remove('/volume/host/:volume_id/delete', {
    summary: 'The same as without `/delete`.',
    answeredBy: 'leader',
    query: { force: FlagParameter('As without `/delete`.') },
    returns: emptyResponse('The volume is deleted.'),
    answers: { 404: unknownVolume, 504: nodeTimeout },
    errors: { 400: 'Its plugin has failed.', 409: 'Allocations mount the volume.' },
    needs: 'namespace:host-volume-delete',
  }),
})
