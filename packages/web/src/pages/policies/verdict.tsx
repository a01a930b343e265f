import type { JobPolicyOutcome, PolicyVerdict } from '@reeve/contract'
import { useRead } from '../../data/use-read.ts'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/governance.css'
import { Findings } from './findings.tsx'
import { useCode } from './use-code.ts'

/** One verdict on a job, with the line of each policy that did not pass. */
export function VerdictPage({ params, search }: PageProps<'/verdicts/:verdictId'>) {
  const namespace = search.get('namespace') ?? 'default'
  const filter = `ID == "${params.verdictId.replaceAll(/[^0-9a-f-]/g, '')}"`
  const verdicts = useRead(['verdict', namespace, filter], (api, signal) =>
    api.v1.listPolicyVerdicts({ query: { namespace, filter }, signal }),
  )
  return (
    <QueryView query={verdicts} what="the verdict">
      {([verdict]) => (
        <>
          {verdict === undefined ? <Gone /> : <VerdictView verdict={verdict} />}
          <CommandLine call={{ path: '/v1/policy-verdicts', query: { namespace, filter } }} />
        </>
      )}
    </QueryView>
  )
}

function Gone() {
  return (
    <>
      <PageHead title="Verdict" crumbs={[{ text: 'Verdicts on jobs', href: paths.verdicts() }]} />
      <EmptyState title="There is no such verdict">
        <p>Only the latest of each namespace are kept.</p>
      </EmptyState>
    </>
  )
}

function VerdictView({ verdict }: { readonly verdict: PolicyVerdict }) {
  const { Namespace, JobID, Result, Operation, Comment } = verdict
  return (
    <>
      <PageHead
        title={JobID}
        crumbs={[{ text: 'Verdicts on jobs', href: paths.verdicts({ namespace: Namespace }) }]}
        aside={
          <>
            <StateBadge state={Result} />
            <span className="tag">{Operation}</span>
          </>
        }
      />
      <Panel title="Submission">
        <Facts
          facts={[
            {
              name: 'Job',
              value: <Link href={paths.job({ namespace: Namespace, id: JobID })}>{JobID}</Link>,
            },
            { name: 'Namespace', value: Namespace },
            { name: 'When', value: <Ago date={dateOfNs(verdict.Time)} /> },
            { name: 'Asked by', value: verdict.TokenName || verdict.AccessorID || 'anyone' },
            { name: 'Policies asked', value: verdict.Asked },
            ...(Comment === '' ? [] : [{ name: 'Why it was let through', value: Comment }]),
          ]}
        />
      </Panel>
      <Panel title="Policies that did not pass">
        <ul className="verdicts">
          {verdict.Outcomes.map((outcome) => (
            <Outcome key={`${outcome.PolicySetID}/${outcome.PolicyID}`} outcome={outcome} />
          ))}
        </ul>
        {verdict.OutcomesOmitted > 0 && (
          <p className="quiet">And {verdict.OutcomesOmitted} more.</p>
        )}
      </Panel>
    </>
  )
}

function Outcome({ outcome }: { readonly outcome: JobPolicyOutcome }) {
  const organization = useOrganizationOf(outcome.PolicyID)
  const code = useCode(organization === undefined ? undefined : outcome.PolicyID)
  const policy = organization === undefined ? undefined : { organization, id: outcome.PolicyID }
  return (
    <li>
      <div className="row">
        <StateBadge state={outcome.Status} />
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
      {outcome.Description !== null && <p className="quiet">{outcome.Description}</p>}
      <Findings
        findings={outcome.Findings.map(({ Rule, Line, File, Message }) => ({
          rule: Rule,
          line: Line,
          file: File,
          message: Message,
        }))}
        code={code.data}
        policy={policy}
      />
      {outcome.FindingsOmitted > 0 && (
        <p className="quiet">And {outcome.FindingsOmitted} more reasons.</p>
      )}
    </li>
  )
}

/** Of a policy that the caller may read; the workload API names none. */
function useOrganizationOf(policyId: string): string | undefined {
  const { tokens } = useSession()
  const { data } = useRead(
    ['policy', policyId],
    (api, signal) => api.v2.readPolicy({ params: { policy_id: policyId }, signal }),
    { enabled: tokens.governance !== undefined || tokens.workload !== undefined },
  )
  return data?.data.relationships.organization.data.id
}
