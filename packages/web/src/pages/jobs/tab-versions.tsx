import { originText, type Job, type JobDiff, type JobVersionsResponse } from '@reeve/contract'
import { jobCan } from '../../actions/job-can.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths, type JobName } from '../../paths.ts'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { DiffView } from './diff-view.tsx'
import { useJobVersions } from './job-data.ts'
import type { JobView } from './job-view.ts'

/** What the job was, what each change was, and the way back. */
export function VersionsTab({ job, name, search }: JobView) {
  const against = numberOf(search.get('against'))
  const versions = useJobVersions(name, against)
  return (
    <QueryView query={versions} what="the versions">
      {(answer) => (
        <Versions
          job={job}
          name={name}
          answer={answer}
          chosen={numberOf(search.get('version')) ?? job.Version}
          against={against}
        />
      )}
    </QueryView>
  )
}

function numberOf(text: string | null): number | undefined {
  const number = text === null ? Number.NaN : Number(text)
  return Number.isInteger(number) && number >= 0 ? number : undefined
}

interface VersionsProps {
  readonly job: Job
  readonly name: JobName
  readonly answer: JobVersionsResponse
  readonly chosen: number
  readonly against: number | undefined
}

function Versions({ job, name, answer, chosen, against }: VersionsProps) {
  const { Versions: all, Diffs } = answer
  const place = all.findIndex(({ Version }) => Version === chosen)
  const shown = all[place]
  const diff = Diffs?.[place]
  const before = against ?? all[place + 1]?.Version
  return (
    <>
      <DataTable
        label="Versions"
        columns={COLUMNS}
        rows={all}
        keyOf={({ Version }) => String(Version)}
        hrefOf={({ Version }) => paths.jobVersions(name, { version: Version, against })}
        empty={<p className="quiet">No version is kept.</p>}
      />
      {shown !== undefined && (
        <Panel
          title={`Version ${chosen}${before === undefined ? '' : ` against version ${before}`}`}
          actions={<VersionActions job={job} version={shown} all={all} against={against} />}
        >
          <Difference diff={diff} before={before} chosen={chosen} />
        </Panel>
      )}
    </>
  )
}

const COLUMNS: readonly Column<Job>[] = [
  { id: 'version', head: 'Version', width: '104px', cell: ({ Version }) => `Version ${Version}` },
  { id: 'made', head: 'Submitted', cell: ({ SubmitTime }) => <Ago date={dateOfNs(SubmitTime)} /> },
  { id: 'origin', head: 'Origin', cell: (version) => originText(version) || '–' },
  { id: 'message', head: 'Message', isExtra: true, cell: ({ Message }) => Message ?? '–' },
  {
    id: 'stable',
    head: 'Stable',
    width: '120px',
    cell: ({ Stable }) => (Stable ? <StateBadge state="healthy" text="stable" /> : '–'),
  },
  {
    id: 'tag',
    head: 'Tag',
    width: '20%',
    isExtra: true,
    cell: ({ VersionTag }) => VersionTag?.Name ?? '–',
  },
]

interface DifferenceProps {
  readonly diff: JobDiff | undefined
  readonly before: number | undefined
  readonly chosen: number
}

function Difference({ diff, before, chosen }: DifferenceProps) {
  if (before === undefined) return <p className="quiet">This is the first version that is kept.</p>
  if (before === chosen) return <p className="quiet">A version does not differ from itself.</p>
  if (diff === undefined) return <p className="quiet">The two cannot be compared.</p>
  return <DiffView diff={diff} oldTitle={`Version ${before}`} newTitle={`Version ${chosen}`} />
}

interface VersionActionsProps {
  readonly job: Job
  readonly version: Job
  readonly all: readonly Job[]
  readonly against: number | undefined
}

function VersionActions({ job, version, all, against }: VersionActionsProps) {
  const { rights } = useSession()
  const act = useAct()
  const confirm = useConfirm()
  const params = { job_id: job.ID }
  const query = { namespace: job.Namespace }
  const isCurrent = version.Version === job.Version
  const revert = async () => {
    const title = `Revert to version ${version.Version}?`
    const text = 'Its definition is submitted as a new version and deployed.'
    if (!(await confirm({ title, body: text, action: 'Revert' }))) return
    const body = { JobID: job.ID, JobVersion: version.Version, EnforcePriorVersion: job.Version }
    await act({
      call: (api) => api.v1.revertJob({ params, query, body }),
      done: `Version ${version.Version} is being deployed.`,
    })
  }
  const setStable = async () => {
    const body = { JobID: job.ID, JobVersion: version.Version, Stable: !version.Stable }
    await act({
      call: (api) => api.v1.setJobStability({ params, query, body }),
      done: version.Stable ? 'The version is not stable any more.' : 'The version is stable.',
    })
  }
  return (
    <>
      <label className="check">
        <span>Compare with</span>
        <select
          value={against ?? ''}
          onChange={(event) => navigate(hrefWith({ against: event.target.value }))}
        >
          <option value="">the version before</option>
          {all.map(({ Version }) => (
            <option key={Version} value={Version}>
              version {Version}
            </option>
          ))}
        </select>
      </label>
      <ActionButton refusal={jobCan.setStable(job, rights)} onAct={setStable}>
        {version.Stable ? 'Not stable' : 'Mark stable'}
      </ActionButton>
      <ActionButton
        kind="primary"
        refusal={isCurrent ? 'This is the current version.' : jobCan.revert(job, rights)}
        onAct={revert}
      >
        Revert to version {version.Version}…
      </ActionButton>
    </>
  )
}
