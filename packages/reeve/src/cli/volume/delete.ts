import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { volumeRequest, findVolume, type VolumeStub } from './find-volume.ts'

export async function runVolumeDelete(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const volume = await findVolume(invocation, args[0] ?? '')
  await confirm(invocation, questionOf(volume))
  const { params, query } = volumeRequest(volume)
  await client.v1.deleteHostVolume({ params, query: { ...query, force: flags.has('force') } })
  output.printLine(`Volume "${volume.Name}" is deleted.`)
  return EXIT_CODES.ok
}

function questionOf({ ID, Name, NodeID, PluginID }: VolumeStub): string {
  return PluginID === ''
    ? `Delete volume "${Name}" (${ID})? Its directory on node ${NodeID} is kept.`
    : `Delete volume "${Name}" (${ID}) with its data on node ${NodeID}?`
}
