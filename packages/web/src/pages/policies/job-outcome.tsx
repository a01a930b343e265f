import type { JobPolicyOutcome } from '@reeve/contract'
import { useApiQuery } from '../../data/use-read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'
import '../../style/governance.css'
import { Findings } from './findings.tsx'
import { OutcomeBadge } from './outcome-badge.tsx'
import { usePolicyCode } from './use-code.ts'

/** Policy results for a job, with their findings. */
export function JobOutcomes({ outcomes }: { readonly outcomes: readonly JobPolicyOutcome[] }) {
  return (
    <ul className="verdicts">
      {outcomes.map((outcome) => (
        <JobOutcome key={`${outcome.PolicySetID}/${outcome.PolicyID}`} outcome={outcome} />
      ))}
    </ul>
  )
}

function JobOutcome({ outcome }: { readonly outcome: JobPolicyOutcome }) {
  const { Status, Description, Skipped, Findings: findings, FindingsOmitted } = outcome
  // Passed policies have no findings, so their code is not loaded.
  const policy = usePolicyLocation(Status === 'passed' ? undefined : outcome.PolicyID)
  const code = usePolicyCode(policy?.id)
  return (
    <li>
      <div className="row">
        <OutcomeBadge status={Status} skipped={Skipped} />
        {policy === undefined ? (
          <strong>{outcome.Policy}</strong>
        ) : (
          <Link href={paths.policy(policy.organization, policy.id)}>
            <strong>{outcome.Policy}</strong>
          </Link>
        )}
        <span className="tag">{outcome.Level}</span>
        <span className="quiet">of {outcome.PolicySet}</span>
      </div>
      {Skipped !== undefined && <p className="quiet">Skipped: {Skipped}.</p>}
      {Description !== null && Status !== 'passed' && <p className="quiet">{Description}</p>}
      <Findings
        findings={findings.map(({ Rule, Line, File, Message }) => ({
          rule: Rule,
          line: Line,
          file: File,
          message: Message,
        }))}
        code={code.data}
        policy={policy}
      />
      {FindingsOmitted > 0 && <p className="quiet">{FindingsOmitted} more findings omitted.</p>}
    </li>
  )
}

interface PolicyLocation {
  readonly organization: string
  readonly id: string
}

/** Finds the page of a readable policy; the workload API does not name the organization. */
function usePolicyLocation(policyId: string | undefined): PolicyLocation | undefined {
  const { hasGovernanceToken } = useSession()
  const { data } = useApiQuery(
    ['policy', policyId ?? ''],
    (api, signal) => api.v2.readPolicy({ params: { policy_id: policyId ?? '' }, signal }),
    { enabled: hasGovernanceToken === true && policyId !== undefined && policyId !== '' },
  )
  if (data === undefined) return undefined
  return { organization: data.data.relationships.organization.data.id, id: data.data.id }
}
