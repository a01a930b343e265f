import type { ClusterLevelResponse } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { fields } from '../output/table.ts'

export async function runUpgradeStatus({ client, output }: Invocation): Promise<number> {
  const { data } = await client.v1.readClusterLevel()
  output.show(data, () => statusText(data))
  return EXIT_CODES.ok
}

function statusText({ Level, Possible }: ClusterLevelResponse): string {
  const next =
    Level === Possible
      ? 'There is no upgrade to finish.'
      : 'All servers are upgraded. To finish: reeve operator upgrade finish'
  const shown = fields([
    ['Cluster level', Level],
    ['Supported by all servers', Possible],
  ])
  return `${shown}\n${next}\n`
}

export async function runUpgradeFinish({ client, output }: Invocation): Promise<number> {
  const before = await client.v1.readClusterLevel()
  const { data } = await client.v1.raiseClusterLevel()
  output.show(data, () =>
    before.data.Level === data.Level
      ? `The cluster level is ${data.Level} already. Nothing was changed.\n`
      : `The cluster level is ${data.Level}. Versions before ${data.Level} do not start on this state.\n`,
  )
  return EXIT_CODES.ok
}
