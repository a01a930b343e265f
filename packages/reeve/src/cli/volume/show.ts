import type { HostVolume } from '@reeve/contract'
import { allocationTable } from '../alloc/allocation-table.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { idText } from '../find-id.ts'
import { knownFields, pairsText, sections } from '../output/known-fields.ts'
import { sizeText } from '../output/size.ts'
import { agoFromNs } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'
import { callFor, findVolume } from './find-volume.ts'

export async function runVolumeShow(invocation: Invocation): Promise<number> {
  const { args, client, output } = invocation
  const found = await findVolume(invocation, args[0] ?? '')
  const { data } = await client.v1.readHostVolume(callFor(found))
  output.show(data, () => volumeText(data, invocation))
  return EXIT_CODES.ok
}

function volumeText(volume: HostVolume, invocation: Invocation): string {
  const { output } = invocation
  const { Allocations: mounters } = volume
  const allocations =
    mounters.length === 0
      ? 'No allocation mounts the volume.\n'
      : `${output.paint('strong', 'Allocations')}\n${allocationTable(mounters, invocation)}`
  return sections([factsText(volume, invocation), allocations])
}

function factsText(volume: HostVolume, { flags, host, output }: Invocation): string {
  const { RequestedCapacityMinBytes: min, RequestedCapacityMaxBytes: max } = volume
  const capabilities = (volume.RequestedCapabilities ?? []).map(
    ({ AccessMode, AttachmentMode }) => `${AccessMode} (${AttachmentMode})`,
  )
  const constraints = (volume.Constraints ?? []).map(({ LTarget, Operand, RTarget }) =>
    `${LTarget} ${Operand} ${RTarget}`.trim(),
  )
  return knownFields([
    ['ID', volume.ID],
    ['Name', volume.Name],
    ['Namespace', volume.Namespace],
    ['State', output.paint(toneOf(volume.State), volume.State)],
    ['Plugin', volume.PluginID === '' ? 'none, registered' : volume.PluginID],
    ['Node', idText(volume.NodeID, flags.has('verbose'))],
    ['Node pool', volume.NodePool],
    ['Path', volume.HostPath],
    ['Size', knownSize(volume.CapacityBytes)],
    ['Minimum size', knownSize(min)],
    ['Maximum size', knownSize(max)],
    ['Capabilities', capabilities.join(', ')],
    ['Constraints', constraints.join(', ')],
    ['Parameters', pairsText(volume.Parameters)],
    ['Created', agoFromNs(volume.CreateTime, host.nowMs())],
    ['Changed', agoFromNs(volume.ModifyTime, host.nowMs())],
  ])
}

/** Plugins that do not limit the size report 0. */
function knownSize(bytes: number): string {
  return bytes === 0 ? '' : sizeText(bytes)
}
