import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { idText } from '../find-id.ts'
import { findNode } from '../node/find-node.ts'
import { sizeText } from '../output/size.ts'
import { table } from '../output/table.ts'
import { toneOf } from '../output/tone.ts'
import type { VolumeStub } from './find-volume.ts'

export async function runVolumeList(invocation: Invocation): Promise<number> {
  const { client, flags, output, signal } = invocation
  const node = flags.text('node')
  const query = {
    node_id: node === undefined ? undefined : (await findNode(invocation, node)).ID,
    node_pool: flags.text('node-pool'),
    plugin_id: flags.text('plugin'),
  }
  const volumes: VolumeStub[] = []
  for await (const volume of client.pages('listVolumes', { query, signal })) volumes.push(volume)
  output.show(volumes, () =>
    volumes.length === 0
      ? 'There are no volumes. "reeve volume init" writes a file for a first one.'
      : volumeTable(volumes, invocation),
  )
  return EXIT_CODES.ok
}

function volumeTable(
  volumes: readonly VolumeStub[],
  { flags, output, settings }: Invocation,
): string {
  const isVerbose = flags.has('verbose')
  const isEverywhere = settings.namespace === '*'
  const rows = volumes.map((volume) => [
    idText(volume.ID, isVerbose),
    ...(isEverywhere ? [volume.Namespace] : []),
    volume.Name,
    volume.PluginID === '' ? 'registered' : volume.PluginID,
    volume.NodePool,
    idText(volume.NodeID, isVerbose),
    volume.CapacityBytes === 0 ? '' : sizeText(volume.CapacityBytes),
    output.paint(toneOf(volume.State), volume.State),
  ])
  const place = isEverywhere ? ['Namespace'] : []
  const heading = ['ID', ...place, 'Name', 'Plugin', 'Node pool', 'Node', 'Size', 'State']
  return table(heading, rows)
}
