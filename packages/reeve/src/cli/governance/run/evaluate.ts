import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { readJsonObject } from '../../input.ts'
import { findWorkspace } from '../find.ts'
import { formatSetResults } from '../outcomes.ts'

/** `run evaluate WORKSPACE PLAN`: evaluates the policies of a workspace without creating a run. */
export async function runRunEvaluate(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const [name = '', file = ''] = invocation.args
  const plan = await readJsonObject(invocation, file, v2.PLAN_UPLOAD_BYTES_MAX)
  const { id } = await findWorkspace(invocation, name)
  const { data } = await client.v2.evaluateWorkspacePolicies({
    params: { workspace_id: id },
    body: resource('policy-dry-runs', { plan }),
  })
  const { status, 'policy-set-outcomes': sets } = data.data.attributes
  output.print(data, () => {
    const head = `The policies say: ${output.paint(status === 'passed' ? 'good' : 'bad', status)}.`
    const none = 'No policy set guards this workspace.'
    return `${head}\n${sets.length === 0 ? none : formatSetResults(sets, output.paint)}`
  })
  return status === 'passed' ? EXIT_CODES.ok : EXIT_CODES.refusedByPolicy
}
