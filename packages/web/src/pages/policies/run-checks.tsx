import type { v2 } from '@reeve/contract'
import { overrideCan } from '../../actions/governance-can.ts'
import { useRead } from '../../data/use-read.ts'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { OverrideButton } from './override-button.tsx'
import { OverrideNote } from './override-note.tsx'
import { SetVerdicts } from './set-verdicts.tsx'

interface ChecksPanelProps {
  readonly organization: string
  readonly runId: string
}

/** What the policies of kind `native` said of a run. */
export function ChecksPanel({ organization, runId }: ChecksPanelProps) {
  const checks = useRead(
    ['policy-checks', runId],
    (api, signal) => api.v2.listPolicyChecks({ params: { run_id: runId }, signal }),
    { watches: [{ topic: 'PolicyCheck' }, { topic: 'Run' }] },
  )
  return (
    <QueryView query={checks} what="the policy checks">
      {({ data }) =>
        data.map((check) => <Check key={check.id} organization={organization} check={check} />)
      }
    </QueryView>
  )
}

interface CheckProps {
  readonly organization: string
  readonly check: v2.PolicyCheck
}

function Check({ organization, check }: CheckProps) {
  const { status, result, override } = check.attributes
  const isWaiting = status === 'pending' || status === 'queued'
  return (
    <Panel
      title="Native policies"
      actions={
        <>
          <StateBadge state={status} text={status.replaceAll('_', ' ')} />
          <OverrideButton
            refusal={overrideCan.check(check)}
            call={(api, comment) =>
              api.v2.overridePolicyCheck({
                params: { policy_check_id: check.id },
                body: { comment },
              })
            }
          />
        </>
      }
    >
      <OverrideNote override={override} />
      {result === null ? (
        <p className="quiet">{isWaiting ? 'Pending.' : 'Not evaluated.'}</p>
      ) : (
        <SetVerdicts organization={organization} sets={setsIn(result)} />
      )}
    </Panel>
  )
}

/** The sets of a check are as those of an evaluation; its schema leaves them open. */
function setsIn(result: v2.PolicyCheckResult): readonly v2.PolicySetVerdict[] {
  const sets = result.native?.['policy-sets']
  // The server writes them with the renderer of `PolicySetVerdict` (http/v2, policy results).
  return Array.isArray(sets) ? (sets as readonly v2.PolicySetVerdict[]) : []
}
