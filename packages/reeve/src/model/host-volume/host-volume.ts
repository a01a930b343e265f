import {
  DEFAULT_NAMESPACE,
  HOST_VOLUME_ACCESS_MODES,
  VOLUME_ATTACHMENT_MODES,
  VOLUME_PLUGIN_ATTRIBUTE,
  type HostVolumeInput,
  type HostVolumeRecord,
  type HostVolumeState,
  type VolumeCapability,
} from '@reeve/contract'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { canonicalizeConstraints } from '../canonical/canonicalize-blocks.ts'
import { patternInstructions } from '../job/job.ts'
import { LIMITS } from '../limits.ts'
import { isNodePoolName, VOLUME_NAME } from '../node/registration-problem.ts'
import type { NodeRow } from '../node/node.ts'
import { issuesText } from '../validation/validation-issue.ts'
import { checkConstraints } from '../validation/validate-constraint.ts'

/** Origin of a volume: created by its plugin, or an existing directory that was registered. */
export type VolumeOrigin = 'created' | 'registered'

const PLUGIN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
const PATH = /^\/[^\p{Cc}]*$/u
const DOT_SEGMENT = /(^|\/)\.\.?(\/|$)/

/** Reports whether the path is valid for a volume on its node. */
export function isHostPath(path: string): boolean {
  return path.length <= LIMITS.hostVolumePathCharsMax && PATH.test(path) && !DOT_SEGMENT.test(path)
}

/** Returns a new volume with the defaults of omitted fields. */
export function newHostVolume(
  input: HostVolumeInput,
  { id, origin }: { readonly id: string; readonly origin: VolumeOrigin },
): HostVolumeRecord {
  return {
    ...requestedFields(input),
    Namespace: input.Namespace || DEFAULT_NAMESPACE,
    ID: id,
    Name: input.Name ?? '',
    PluginID: origin === 'created' ? input.PluginID || 'mkdir' : '',
    NodePool: input.NodePool ?? '',
    NodeID: input.NodeID ?? '',
    CapacityBytes: origin === 'registered' ? (input.CapacityBytes ?? 0) : 0,
    HostPath: origin === 'registered' ? (input.HostPath ?? '') : '',
    State: 'pending',
    CreateIndex: 0,
    CreateTime: 0,
    ModifyIndex: 0,
    ModifyTime: 0,
  }
}

function requestedFields(input: HostVolumeInput) {
  const capabilities = (input.RequestedCapabilities ?? []).map((one) => ({
    AttachmentMode: one.AttachmentMode || 'file-system',
    AccessMode: one.AccessMode || 'single-node-writer',
  }))
  const parameters = Object.entries(input.Parameters ?? {})
  return {
    Constraints: canonicalizeConstraints({ Constraints: input.Constraints }).Constraints,
    RequestedCapacityMinBytes: input.RequestedCapacityMinBytes ?? 0,
    RequestedCapacityMaxBytes: input.RequestedCapacityMaxBytes ?? 0,
    RequestedCapabilities: capabilities.length === 0 ? [DEFAULT_CAPABILITY] : capabilities,
    Parameters: Object.fromEntries(parameters.map(([name, value]) => [name, value ?? ''])),
  }
}

const DEFAULT_CAPABILITY: VolumeCapability = {
  AttachmentMode: 'file-system',
  AccessMode: 'single-node-writer',
}

/** Fields that cannot be changed after creation. */
const IMMUTABLE_FIELDS = ['Name', 'PluginID', 'NodePool', 'NodeID', 'HostPath'] as const

/** Returns the volume with the requested changes, or the reason why they are rejected. */
export function updateHostVolume(
  volume: HostVolumeRecord,
  input: HostVolumeInput,
): HostVolumeRecord | string {
  for (const field of IMMUTABLE_FIELDS) {
    const newValue = input[field]
    if (newValue && newValue !== volume[field])
      return `${field} of a volume cannot be changed: it is "${volume[field]}"`
  }
  const requested = requestedFields({ ...volume, ...withoutUnset(input) })
  const { RequestedCapacityMaxBytes: max } = requested
  if (max > 0 && max < volume.CapacityBytes)
    return `RequestedCapacityMaxBytes is below the ${volume.CapacityBytes} bytes that the volume has`
  return { ...volume, ...requested }
}

function withoutUnset(input: HostVolumeInput): HostVolumeInput {
  return Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== null && value !== undefined),
  )
}

/** Returns why a volume is invalid; undefined if it is valid. */
export function hostVolumeProblem(volume: HostVolumeRecord): string | undefined {
  return (
    nameProblem(volume) ??
    capacityProblem(volume) ??
    capabilityProblem(volume.RequestedCapabilities ?? []) ??
    parameterProblem(Object.entries(volume.Parameters ?? {})) ??
    constraintProblem(volume)
  )
}

function nameProblem({ Name, PluginID, NodePool, HostPath }: HostVolumeRecord): string | undefined {
  if (!VOLUME_NAME.test(Name))
    return (
      'Name must be 1 to 128 letters, digits, ".", "_" and "-", the first a letter or digit; ' +
      'an index such as [0] may follow'
    )
  if (PluginID !== '' && !PLUGIN.test(PluginID))
    return 'PluginID must be 1 to 64 letters, digits, ".", "_" and "-"'
  if (NodePool !== '' && !isNodePoolName(NodePool))
    return 'NodePool must be 1 to 128 letters, digits, "_" and "-", but not "all"'
  if (HostPath === '' || isHostPath(HostPath)) return undefined
  const max = LIMITS.hostVolumePathCharsMax
  return `HostPath must be an absolute path of at most ${max} characters without "." or ".."`
}

function capacityProblem(volume: HostVolumeRecord): string | undefined {
  const { RequestedCapacityMinBytes: min, RequestedCapacityMaxBytes: max } = volume
  for (const [field, value] of Object.entries({
    RequestedCapacityMinBytes: min,
    RequestedCapacityMaxBytes: max,
    CapacityBytes: volume.CapacityBytes,
  }))
    if (!Number.isSafeInteger(value) || value < 0)
      return `${field} must be a whole number of bytes from 0 to ${Number.MAX_SAFE_INTEGER}`
  if (max > 0 && max < min)
    return `RequestedCapacityMaxBytes (${max}) is below RequestedCapacityMinBytes (${min})`
  return undefined
}

function capabilityProblem(capabilities: readonly VolumeCapability[]): string | undefined {
  const max = HOST_VOLUME_ACCESS_MODES.length * VOLUME_ATTACHMENT_MODES.length
  if (capabilities.length > max) return `a volume has at most ${max} capabilities`
  for (const { AccessMode, AttachmentMode } of capabilities) {
    if (!isOneOf(HOST_VOLUME_ACCESS_MODES, AccessMode))
      return unknownValue('AccessMode', AccessMode, HOST_VOLUME_ACCESS_MODES)
    if (!isOneOf(VOLUME_ATTACHMENT_MODES, AttachmentMode))
      return unknownValue('AttachmentMode', AttachmentMode, VOLUME_ATTACHMENT_MODES)
  }
  return undefined
}

function isOneOf(values: readonly string[], value: string): boolean {
  return values.includes(value)
}

function unknownValue(field: string, value: string, allowed: readonly string[]): string {
  const quoted = JSON.stringify(value.slice(0, LIMITS.shownNameCharsMax))
  return `${field} ${quoted} is unknown: it must be one of ${allowed.join(', ')}`
}

function parameterProblem(parameters: readonly (readonly [string, string])[]): string | undefined {
  const {
    hostVolumeParametersMax: max,
    hostVolumeParameterCharsMax: charsMax,
    hostVolumeParametersBytesMax: bytesMax,
  } = LIMITS
  if (parameters.length > max) return `a volume has at most ${max} parameters`
  if (parameters.some(([name]) => name === '' || name.length > 128))
    return 'the name of a parameter has 1 to 128 characters'
  const long = parameters.find(([, value]) => value.length > charsMax)
  if (long !== undefined)
    return `parameter ${JSON.stringify(long[0])} has more than ${charsMax} characters`
  const bytes = encodeUtf8(JSON.stringify(Object.fromEntries(parameters))).length
  return bytes > bytesMax
    ? `the parameters of a volume have ${bytes} bytes as JSON: at most ${bytesMax} are allowed`
    : undefined
}

function constraintProblem({ Constraints }: HostVolumeRecord): string | undefined {
  const constraints = Constraints ?? []
  const max = LIMITS.hostVolumeConstraintsMax
  if (constraints.length > max) return `a volume has at most ${max} constraints`
  const distinct = constraints.find(({ Operand }) => Operand.startsWith('distinct_'))
  if (distinct !== undefined)
    return `a constraint of a volume cannot use ${distinct.Operand}: a volume is placed on one node`
  if (patternInstructions({ Constraints: constraints }) > LIMITS.patternInstructionsMax)
    return `the regular expressions of the constraints have more than ${LIMITS.patternInstructionsMax} instructions together`
  const findings = checkConstraints(constraints, 'Constraints')
  return findings.length === 0 ? undefined : issuesText(findings)
}

/** Returns the state of a volume, derived from what its node reports. */
export function hostVolumeState(
  { ID, Name }: Pick<HostVolumeRecord, 'ID' | 'Name'>,
  node: Pick<NodeRow, 'Status' | 'HostVolumes'> | undefined,
): HostVolumeState {
  if (node === undefined || node.Status === 'down' || node.Status === 'disconnected')
    return 'unavailable'
  const volumes = node.HostVolumes ?? {}
  const found = Object.hasOwn(volumes, Name) ? volumes[Name] : undefined
  return found?.ID === ID ? 'ready' : 'pending'
}

/** Returns the node attribute of a volume plugin. */
export function volumePluginAttribute(plugin: string): string {
  return `${VOLUME_PLUGIN_ATTRIBUTE.prefix}${plugin}${VOLUME_PLUGIN_ATTRIBUTE.suffix}`
}

/** Returns the versions of the volume plugins of a node by name. */
export function volumePluginsOf(
  attributes: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  const { prefix, suffix } = VOLUME_PLUGIN_ATTRIBUTE
  const plugins = new Map<string, string>()
  for (const [name, version] of Object.entries(attributes))
    if (name.startsWith(prefix) && name.endsWith(suffix))
      plugins.set(name.slice(prefix.length, name.length - suffix.length), version)
  return plugins
}
