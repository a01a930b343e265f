import type { JobPolicyOutcome } from '@reeve/contract'
import { useRead } from '../../data/use-read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'
import '../../style/governance.css'
import { Findings } from './findings.tsx'
import { OutcomeBadge } from './outcome-badge.tsx'
import { useCode } from './use-code.ts'

/** What policies said of a job, each with the lines that gave the reasons. */
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
  // Who passed has said nothing that a line of its code would explain.
  const policy = usePlaceOf(Status === 'passed' ? undefined : outcome.PolicyID)
  const code = useCode(policy?.id)
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
      {Skipped !== undefined && <p className="quiet">It was not asked: {Skipped}.</p>}
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
      {FindingsOmitted > 0 && <p className="quiet">And {FindingsOmitted} more reasons.</p>}
    </li>
  )
}

interface PolicyPlace {
  readonly organization: string
  readonly id: string
}

/** Where a policy is shown that the caller may read; the workload API names no organization. */
function usePlaceOf(policyId: string | undefined): PolicyPlace | undefined {
  const { mayGovern } = useSession()
  const { data } = useRead(
    ['policy', policyId ?? ''],
    (api, signal) => api.v2.readPolicy({ params: { policy_id: policyId ?? '' }, signal }),
    { enabled: mayGovern === true && policyId !== undefined && policyId !== '' },
  )
  if (data === undefined) return undefined
  return { organization: data.data.relationships.organization.data.id, id: data.data.id }
}
