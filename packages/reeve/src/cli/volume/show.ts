import type { HostVolume } from '@reeve/contract'
import { formatAllocationTable } from '../alloc/allocation-table.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { formatId } from '../find-id.ts'
import { renderNonEmptyFields, formatKeyValues, joinSections } from '../output/known-fields.ts'
import { formatSize } from '../output/size.ts'
import { agoFromNs } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'
import { volumeRequest, findVolume } from './find-volume.ts'

export async function runVolumeShow(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const found = await findVolume(invocation, args[0] ?? '')
  const { data } = await client.v1.readHostVolume(volumeRequest(found))
  output.print(data, () => formatVolume(data, invocation))
  return EXIT_CODES.ok
}

function formatVolume(volume: HostVolume, invocation: CommandContext): string {
  const { output } = invocation
  const { Allocations: mounters } = volume
  const allocations =
    mounters.length === 0
      ? 'No allocation mounts the volume.\n'
      : `${output.paint('strong', 'Allocations')}\n${formatAllocationTable(mounters, invocation)}`
  return joinSections([formatFields(volume, invocation), allocations])
}

function formatFields(volume: HostVolume, { flags, host, output }: CommandContext): string {
  const { RequestedCapacityMinBytes: min, RequestedCapacityMaxBytes: max } = volume
  const capabilities = (volume.RequestedCapabilities ?? []).map(
    ({ AccessMode, AttachmentMode }) => `${AccessMode} (${AttachmentMode})`,
  )
  const constraints = (volume.Constraints ?? []).map(({ LTarget, Operand, RTarget }) =>
    `${LTarget} ${Operand} ${RTarget}`.trim(),
  )
  return renderNonEmptyFields([
    ['ID', volume.ID],
    ['Name', volume.Name],
    ['Namespace', volume.Namespace],
    ['State', output.paint(statusStyle(volume.State), volume.State)],
    ['Plugin', volume.PluginID === '' ? 'none, registered' : volume.PluginID],
    ['Node', formatId(volume.NodeID, flags.has('verbose'))],
    ['Node pool', volume.NodePool],
    ['Path', volume.HostPath],
    ['Size', formatKnownSize(volume.CapacityBytes)],
    ['Minimum size', formatKnownSize(min)],
    ['Maximum size', formatKnownSize(max)],
    ['Capabilities', capabilities.join(', ')],
    ['Constraints', constraints.join(', ')],
    ['Parameters', formatKeyValues(volume.Parameters)],
    ['Created', agoFromNs(volume.CreateTime, host.nowMs())],
    ['Changed', agoFromNs(volume.ModifyTime, host.nowMs())],
  ])
}

/** Plugins that do not limit the size report 0. */
function formatKnownSize(bytes: number): string {
  return bytes === 0 ? '' : formatSize(bytes)
}
