import type { PolicyVerdict } from '@reeve/contract'
import { useCursorList } from '../../data/lists.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { FIRST_COMMANDS, quoteShellArg } from '../../commands.ts'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { isNewestFirst, OrderSelect } from '../../components/filters.tsx'
import { PageHeader } from '../../components/page.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'

const COLUMNS: readonly Column<PolicyVerdict>[] = [
  { id: 'job', head: 'Job', cell: ({ JobID }) => JobID },
  {
    id: 'result',
    head: 'Result',
    width: '128px',
    cell: ({ Result }) => <StatusBadge state={Result} />,
  },
  {
    id: 'operation',
    head: 'Operation',
    width: '104px',
    isExtra: true,
    cell: ({ Operation }) => Operation,
  },
  {
    id: 'policies',
    head: 'Policies',
    isExtra: true,
    cell: ({ Outcomes }) => Outcomes.map(({ Policy }) => Policy).join(', '),
  },
  {
    id: 'who',
    head: 'Submitted by',
    width: '136px',
    isExtra: true,
    cell: ({ TokenName, AccessorID }) => TokenName || AccessorID.slice(0, 8) || 'anonymous',
  },
  {
    id: 'namespace',
    head: 'Namespace',
    width: '112px',
    isExtra: true,
    cell: ({ Namespace }) => Namespace,
  },
  {
    id: 'when',
    head: 'Time',
    width: '96px',
    cell: ({ Time }) => <RelativeTime date={dateFromNs(Time)} />,
  },
]

/** The list of policy decisions: denied jobs and overrides. */
export function PolicyDecisionListPage({ search }: PageProps<'/verdicts'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const reverse = isNewestFirst(search)
  const list = useCursorList(
    ['verdicts', namespace, reverse],
    ({ api, signal, pageQuery }) =>
      api.v1.listPolicyVerdicts({ query: { ...pageQuery, namespace, reverse }, signal }),
    { watches: [{ topic: 'PolicyVerdict' }] },
  )
  return (
    <>
      <PageHeader
        title="Policy decisions"
        lead="Job submissions that policies denied, and overrides."
      />
      <search className="filters">
        <OrderSelect search={search} />
      </search>
      <PagedTable
        list={list}
        what="the policy decisions"
        label="Policy decisions"
        columns={COLUMNS}
        keyOf={({ ID }) => ID}
        hrefOf={(decision) => paths.verdict(decision.Namespace, decision.ID)}
        empty={
          <EmptyState title="No policy decisions" command={FIRST_COMMANDS.policySets}>
            <p>
              Policy sets apply to the jobs of their namespaces. Denials and overrides appear here
              with the failing rule.
            </p>
          </EmptyState>
        }
      />
      <CliAndApiPanel
        cli={`reeve job verdicts --namespace ${quoteShellArg(namespace)} JOB`}
        call={{ path: '/v1/policy-verdicts', query: { namespace } }}
      />
    </>
  )
}
