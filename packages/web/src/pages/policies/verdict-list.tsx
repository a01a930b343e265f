import type { PolicyVerdict } from '@reeve/contract'
import { useList } from '../../data/use-list.ts'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { PagedTable } from '../../parts/paged-table.tsx'
import { isNewestFirst, OrderSelect } from '../../parts/order-select.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'

const COLUMNS: readonly Column<PolicyVerdict>[] = [
  { id: 'job', head: 'Job', cell: ({ JobID }) => JobID },
  {
    id: 'result',
    head: 'Verdict',
    width: '128px',
    cell: ({ Result }) => <StateBadge state={Result} />,
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
    head: 'By',
    isExtra: true,
    cell: ({ Outcomes }) => Outcomes.map(({ Policy }) => Policy).join(', '),
  },
  {
    id: 'who',
    head: 'Asked by',
    width: '136px',
    isExtra: true,
    cell: ({ TokenName, AccessorID }) => TokenName || AccessorID.slice(0, 8) || 'anyone',
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
    head: 'When',
    width: '96px',
    cell: ({ Time }) => <Ago date={dateOfNs(Time)} />,
  },
]

/** Jobs that policies denied, and those that passed over them. */
export function VerdictListPage({ search }: PageProps<'/verdicts'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const reverse = isNewestFirst(search)
  const list = useList(
    ['verdicts', namespace, reverse],
    ({ api, signal, page }) =>
      api.v1.listPolicyVerdicts({ query: { ...page, namespace, reverse }, signal }),
    { watches: [{ topic: 'PolicyVerdict' }] },
  )
  return (
    <>
      <PageHead
        title="Verdicts on jobs"
        lead="Job submissions that policies denied, and overrides."
      />
      <search className="filters">
        <OrderSelect search={search} />
      </search>
      <PagedTable
        list={list}
        what="the verdicts"
        label="Verdicts on jobs"
        columns={COLUMNS}
        keyOf={({ ID }) => ID}
        hrefOf={(verdict) => paths.verdict(verdict.Namespace, verdict.ID)}
        empty={
          <EmptyState title="No job was denied" command={FIRST_COMMANDS.policySets}>
            <p>
              Policy sets apply to the jobs of their namespaces. Denials and overrides appear here
              with the failing rule.
            </p>
          </EmptyState>
        }
      />
      <CommandLine
        cli={`reeve job verdicts --namespace ${quoted(namespace)} JOB`}
        call={{ path: '/v1/policy-verdicts', query: { namespace } }}
      />
    </>
  )
}
