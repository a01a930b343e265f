import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { formatId } from '../find-id.ts'
import { findNode } from '../node/find-node.ts'
import { formatSize } from '../output/size.ts'
import { renderTable } from '../output/table.ts'
import { statusStyle } from '../output/tone.ts'
import type { VolumeStub } from './find-volume.ts'

export async function runVolumeList(invocation: CommandContext): Promise<number> {
  const { client, flags, output, signal } = invocation
  const node = flags.string('node')
  const query = {
    node_id: node === undefined ? undefined : (await findNode(invocation, node)).ID,
    node_pool: flags.string('node-pool'),
    plugin_id: flags.string('plugin'),
  }
  const volumes: VolumeStub[] = []
  for await (const volume of client.pages('listVolumes', { query, signal })) volumes.push(volume)
  output.print(volumes, () =>
    volumes.length === 0
      ? 'There are no volumes. "reeve volume init" writes a file for a first one.'
      : volumeTable(volumes, invocation),
  )
  return EXIT_CODES.ok
}

function volumeTable(
  volumes: readonly VolumeStub[],
  { flags, output, settings }: CommandContext,
): string {
  const isVerbose = flags.has('verbose')
  const isEverywhere = settings.namespace === '*'
  const rows = volumes.map((volume) => [
    formatId(volume.ID, isVerbose),
    ...(isEverywhere ? [volume.Namespace] : []),
    volume.Name,
    volume.PluginID === '' ? 'registered' : volume.PluginID,
    volume.NodePool,
    formatId(volume.NodeID, isVerbose),
    volume.CapacityBytes === 0 ? '' : formatSize(volume.CapacityBytes),
    output.paint(statusStyle(volume.State), volume.State),
  ])
  const place = isEverywhere ? ['Namespace'] : []
  const heading = ['ID', ...place, 'Name', 'Plugin', 'Node pool', 'Node', 'Size', 'State']
  return renderTable(heading, rows)
}
