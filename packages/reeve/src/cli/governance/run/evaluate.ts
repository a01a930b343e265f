import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { fileJson } from '../../input.ts'
import { findWorkspace } from '../find.ts'
import { outcomesText } from '../outcomes.ts'

/** `run evaluate WORKSPACE PLAN`: a verdict of which nothing is kept. */
export async function runRunEvaluate(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const [name = '', file = ''] = invocation.args
  const plan = await fileJson(invocation, file, v2.PLAN_UPLOAD_BYTES_MAX)
  const { id } = await findWorkspace(invocation, name)
  const { data } = await client.v2.evaluateWorkspacePolicies({
    params: { workspace_id: id },
    body: resource('policy-dry-runs', { plan }),
  })
  const { status, 'policy-set-outcomes': sets } = data.data.attributes
  output.show(data, () => {
    const head = `The policies say: ${output.paint(status === 'passed' ? 'good' : 'bad', status)}.`
    const none = 'No policy set guards this workspace.'
    return `${head}\n${sets.length === 0 ? none : outcomesText(sets, output.paint)}`
  })
  return status === 'passed' ? EXIT_CODES.ok : EXIT_CODES.refusedByPolicy
}
