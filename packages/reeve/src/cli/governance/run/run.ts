import type { v2 } from '@reeve/contract'
import type { ItemOf } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { knownFields, sections } from '../../output/known-fields.ts'
import { findWorkspace } from '../find.ts'
import { onText, showList } from '../texts.ts'
import { judgementsText, readJudgements, type Judgements } from './judgements.ts'

type Run = ItemOf<'listWorkspaceRuns'>

export async function runRunList(invocation: Invocation): Promise<number> {
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  const runs = invocation.client.pages('listWorkspaceRuns', { params: { workspace_id: id } })
  return await showList(invocation, runs, {
    heading: ['ID', 'Status', 'Created', 'Message'],
    row: (run) => [
      run.id,
      run.attributes.status,
      run.attributes['created-at'],
      run.attributes.message ?? '',
    ],
    empty: 'There are no runs. "reeve run create WORKSPACE PLAN" makes one.',
  })
}

export async function runRunShow(invocation: Invocation): Promise<number> {
  await showRun(invocation, invocation.args[0] ?? '')
  return EXIT_CODES.ok
}

/** As it is now, with everything that the policies said. */
export async function showRun(invocation: Invocation, runId: string): Promise<Run> {
  const { client, output } = invocation
  const { data } = await client.v2.readRun({ params: { run_id: runId } })
  const judgements = await readJudgements(invocation, runId)
  output.show({ ...data, judgements }, () => runText(invocation, data.data, judgements))
  return data.data
}

function runText({ output }: Invocation, run: Run, judgements: Judgements): string {
  const { id, attributes } = run
  const head = knownFields([
    ['ID', id],
    ['Status', output.paint(toneOf(attributes.status), attributes.status)],
    ['Message', attributes.message ?? ''],
    ['Created', attributes['created-at']],
    ['You may', onText(attributes.permissions)],
  ])
  return sections([head, judgementsText(judgements, output.paint)])
}

/** Runs that a policy has stopped, for good or until somebody overrides it. */
export const STOPPED_BY_POLICY: readonly v2.RunStatus[] = ['policy_override', 'policy_soft_failed']

function toneOf(status: v2.RunStatus): 'good' | 'bad' | 'warning' {
  if (status === 'errored' || status === 'canceled') return 'bad'
  return STOPPED_BY_POLICY.includes(status) ? 'warning' : 'good'
}
