import type { v2 } from '@reeve/contract'
import { overrideDisabledReason } from '../../actions/governance-can.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { OverrideButton } from './override-button.tsx'
import { OverrideNote } from './override-note.tsx'
import { PolicySetResults } from './set-verdicts.tsx'

interface ChecksPanelProps {
  readonly organization: string
  readonly runId: string
}

/** Results of the policies of kind `native` for a run. */
export function ChecksPanel({ organization, runId }: ChecksPanelProps) {
  const checks = useApiQuery(
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
          <StatusBadge state={status} text={status.replaceAll('_', ' ')} />
          <OverrideButton
            disabledReason={overrideDisabledReason.check(check)}
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
        <PolicySetResults organization={organization} sets={policySetsOf(result)} />
      )}
    </Panel>
  )
}

/** Returns the policy sets of a check, which its schema does not declare. */
function policySetsOf(result: v2.PolicyCheckResult): readonly v2.PolicySetVerdict[] {
  const sets = result.native?.['policy-sets']
  // The server writes them with the renderer of `PolicySetVerdict` (http/v2, policy results).
  return Array.isArray(sets) ? (sets as readonly v2.PolicySetVerdict[]) : []
}
