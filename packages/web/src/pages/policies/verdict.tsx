import type { PolicyVerdict } from '@reeve/contract'
import { useApiQuery } from '../../data/api-query.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { EmptyState } from '../../components/notices.tsx'
import { DescriptionList, PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
import { paths, type JobName } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import { useJobStatus } from '../jobs/job-data.ts'
import { JobOutcomes } from './policy-results.tsx'

/** A policy decision on a job, with the findings of the failed policies. */
export function PolicyDecisionPage({ params, search }: PageProps<'/verdicts/:verdictId'>) {
  const namespace = search.get('namespace') ?? 'default'
  const filter = `ID == "${params.verdictId.replaceAll(/[^0-9a-f-]/g, '')}"`
  const decisions = useApiQuery(['verdict', namespace, filter], (api, signal) =>
    api.v1.listPolicyVerdicts({ query: { namespace, filter }, signal }),
  )
  return (
    <QueryView
      query={decisions}
      what="the policy decision"
      page={{
        title: 'Policy decision',
        crumbs: [{ text: 'Policy decisions', href: paths.verdicts() }],
      }}
    >
      {([decision]) => (
        <>
          {decision === undefined ? (
            <DecisionNotFound />
          ) : (
            <PolicyDecisionView decision={decision} />
          )}
          <CliAndApiPanel
            cli={`reeve job verdicts --verbose --namespace ${quoteShellArg(namespace)} ${quoteShellArg(decision?.JobID ?? 'JOB')}`}
            call={{ path: '/v1/policy-verdicts', query: { namespace, filter } }}
          />
        </>
      )}
    </QueryView>
  )
}

function DecisionNotFound() {
  return (
    <>
      <PageHeader
        title="Policy decision"
        crumbs={[{ text: 'Policy decisions', href: paths.verdicts() }]}
      />
      <EmptyState title="Policy decision not found">
        <p>Only the latest of each namespace are kept.</p>
      </EmptyState>
    </>
  )
}

function PolicyDecisionView({ decision }: { readonly decision: PolicyVerdict }) {
  const { Namespace, JobID, Result, Operation, Comment } = decision
  return (
    <>
      <PageHeader
        title={JobID}
        crumbs={[{ text: 'Policy decisions', href: paths.verdicts({ namespace: Namespace }) }]}
        aside={
          <>
            <StatusBadge state={Result} />
            <span className="tag">{Operation}</span>
          </>
        }
      />
      <Panel title="Submission">
        <DescriptionList
          facts={[
            {
              name: 'Job',
              value: <JobLink name={{ namespace: Namespace, id: JobID }} />,
            },
            { name: 'Namespace', value: Namespace },
            { name: 'Time', value: <RelativeTime date={dateFromNs(decision.Time)} /> },
            {
              name: 'Submitted by',
              value: decision.TokenName || decision.AccessorID || 'anonymous',
            },
            { name: 'Evaluated policies', value: decision.Asked },
            ...(Comment === '' ? [] : [{ name: 'Override', value: Comment }]),
          ]}
        />
      </Panel>
      <Panel title="Failed policies">
        <JobOutcomes outcomes={decision.Outcomes} />
        {decision.OutcomesOmitted > 0 && (
          <p className="quiet">And {decision.OutcomesOmitted} more.</p>
        )}
      </Panel>
    </>
  )
}

/** Links to the job if it exists: a denied job may never have been registered. */
function JobLink({ name }: { readonly name: JobName }) {
  const { data: rows } = useJobStatus(name, true)
  if (rows === undefined) return name.id
  return rows.some(({ ID }) => ID === name.id) ? (
    <Link href={paths.job(name)}>{name.id}</Link>
  ) : (
    `${name.id}: not found. It was never registered, or was purged.`
  )
}
