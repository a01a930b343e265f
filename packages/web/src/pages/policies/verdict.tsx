import type { PolicyVerdict } from '@reeve/contract'
import { useRead } from '../../data/use-read.ts'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths, type JobName } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import { useJobStatus } from '../jobs/job-data.ts'
import { JobOutcomes } from './job-outcome.tsx'

/** One verdict on a job, with the line of each policy that did not pass. */
export function VerdictPage({ params, search }: PageProps<'/verdicts/:verdictId'>) {
  const namespace = search.get('namespace') ?? 'default'
  const filter = `ID == "${params.verdictId.replaceAll(/[^0-9a-f-]/g, '')}"`
  const verdicts = useRead(['verdict', namespace, filter], (api, signal) =>
    api.v1.listPolicyVerdicts({ query: { namespace, filter }, signal }),
  )
  return (
    <QueryView
      query={verdicts}
      what="the verdict"
      page={{ title: 'Verdict', crumbs: [{ text: 'Verdicts on jobs', href: paths.verdicts() }] }}
    >
      {([verdict]) => (
        <>
          {verdict === undefined ? <Gone /> : <VerdictView verdict={verdict} />}
          <CommandLine
            cli={`reeve job verdicts --verbose --namespace ${quoted(namespace)} ${quoted(verdict?.JobID ?? 'JOB')}`}
            call={{ path: '/v1/policy-verdicts', query: { namespace, filter } }}
          />
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
              value: <JudgedJob name={{ namespace: Namespace, id: JobID }} />,
            },
            { name: 'Namespace', value: Namespace },
            { name: 'When', value: <Ago date={dateOfNs(verdict.Time)} /> },
            { name: 'Asked by', value: verdict.TokenName || verdict.AccessorID || 'anyone' },
            { name: 'Evaluated policies', value: verdict.Asked },
            ...(Comment === '' ? [] : [{ name: 'Override', value: Comment }]),
          ]}
        />
      </Panel>
      <Panel title="Failed policies">
        <JobOutcomes outcomes={verdict.Outcomes} />
        {verdict.OutcomesOmitted > 0 && (
          <p className="quiet">And {verdict.OutcomesOmitted} more.</p>
        )}
      </Panel>
    </>
  )
}

/** A denied job may never have come to be: a link to it would lead nowhere. */
function JudgedJob({ name }: { readonly name: JobName }) {
  const { data: rows } = useJobStatus(name, true)
  if (rows === undefined) return name.id
  return rows.some(({ ID }) => ID === name.id) ? (
    <Link href={paths.job(name)}>{name.id}</Link>
  ) : (
    `${name.id}: there is no such job now. It was never registered, or was purged.`
  )
}
