import type { ClusterLevelResponse } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { renderFields } from '../output/table.ts'

export async function runUpgradeStatus({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.readClusterLevel()
  output.print(data, () => formatUpgradeStatus(data))
  return EXIT_CODES.ok
}

function formatUpgradeStatus({ Level, Possible }: ClusterLevelResponse): string {
  const next =
    Level === Possible
      ? 'There is no upgrade to finish.'
      : 'All servers are upgraded. To finish: reeve operator upgrade finish'
  const shown = renderFields([
    ['Cluster level', Level],
    ['Supported by all servers', Possible],
  ])
  return `${shown}\n${next}\n`
}

export async function runUpgradeFinish({ client, output }: CommandContext): Promise<number> {
  const before = await client.v1.readClusterLevel()
  const { data } = await client.v1.raiseClusterLevel()
  output.print(data, () =>
    before.data.Level === data.Level
      ? `The cluster level is ${data.Level} already. Nothing was changed.\n`
      : `The cluster level is ${data.Level}. Versions before ${data.Level} do not start on this state.\n`,
  )
  return EXIT_CODES.ok
}
