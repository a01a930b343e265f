import { originText, type Job, type JobDiff, type JobVersionsResponse } from '@reeve/contract'
import { jobDisabledReason } from '../../permissions/job.ts'
import { useApiAction } from '../../data/api-action.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
import { paths, type JobName } from '../../paths.ts'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { DiffView } from './diff-view.tsx'
import { type JobView, useJobVersions } from './job-data.ts'

/** The tab with the versions of the job, their diffs and the revert button. */
export function VersionsTab({ job, name, search }: JobView) {
  const against = parseVersion(search.get('against'))
  const versions = useJobVersions(name, against)
  return (
    <QueryView query={versions} what="the versions">
      {(response) => (
        <Versions
          job={job}
          name={name}
          response={response}
          selectedVersion={parseVersion(search.get('version')) ?? job.Version}
          against={against}
        />
      )}
    </QueryView>
  )
}

function parseVersion(text: string | null): number | undefined {
  const number = text === null ? Number.NaN : Number(text)
  return Number.isInteger(number) && number >= 0 ? number : undefined
}

interface VersionsProps {
  readonly job: Job
  readonly name: JobName
  readonly response: JobVersionsResponse
  readonly selectedVersion: number
  readonly against: number | undefined
}

function Versions({ job, name, response, selectedVersion, against }: VersionsProps) {
  const { Versions: all, Diffs } = response
  const index = all.findIndex(({ Version }) => Version === selectedVersion)
  const selected = all[index]
  const diff = Diffs?.[index]
  const before = against ?? all[index + 1]?.Version
  return (
    <>
      <DataTable
        label="Versions"
        columns={COLUMNS}
        rows={all}
        keyOf={({ Version }) => String(Version)}
        hrefOf={({ Version }) => paths.jobVersions(name, { version: Version, against })}
        empty={<p className="quiet">No versions.</p>}
      />
      {selected !== undefined && (
        <Panel
          title={`Version ${selectedVersion}${before === undefined ? '' : ` compared with version ${before}`}`}
          actions={<VersionActions job={job} version={selected} all={all} against={against} />}
        >
          <VersionDiff diff={diff} before={before} selectedVersion={selectedVersion} />
        </Panel>
      )}
    </>
  )
}

const COLUMNS: readonly Column<Job>[] = [
  { id: 'version', head: 'Version', width: '104px', cell: ({ Version }) => `Version ${Version}` },
  {
    id: 'made',
    head: 'Submitted',
    cell: ({ SubmitTime }) => <RelativeTime date={dateFromNs(SubmitTime)} />,
  },
  { id: 'origin', head: 'Origin', cell: (version) => originText(version) || '–' },
  { id: 'message', head: 'Message', isExtra: true, cell: ({ Message }) => Message ?? '–' },
  {
    id: 'stable',
    head: 'Stable',
    width: '120px',
    cell: ({ Stable }) => (Stable ? <StatusBadge state="healthy" text="stable" /> : '–'),
  },
  {
    id: 'tag',
    head: 'Tag',
    width: '20%',
    isExtra: true,
    cell: ({ VersionTag }) => VersionTag?.Name ?? '–',
  },
]

interface VersionDiffProps {
  readonly diff: JobDiff | undefined
  readonly before: number | undefined
  readonly selectedVersion: number
}

function VersionDiff({ diff, before, selectedVersion }: VersionDiffProps) {
  if (before === undefined) return <p className="quiet">This is the oldest kept version.</p>
  if (before === selectedVersion)
    return <p className="quiet">Choose another version to compare with.</p>
  if (diff === undefined) return <p className="quiet">No diff available.</p>
  return (
    <DiffView diff={diff} oldTitle={`Version ${before}`} newTitle={`Version ${selectedVersion}`} />
  )
}

interface VersionActionsProps {
  readonly job: Job
  readonly version: Job
  readonly all: readonly Job[]
  readonly against: number | undefined
}

function VersionActions({ job, version, all, against }: VersionActionsProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const params = { job_id: job.ID }
  const query = { namespace: job.Namespace }
  const isCurrent = version.Version === job.Version
  const revert = async () => {
    const title = `Revert to version ${version.Version}?`
    const text = 'Its definition is submitted as a new version and deployed.'
    if (!(await confirm({ title, body: text, action: 'Revert' }))) return
    const body = { JobID: job.ID, JobVersion: version.Version, EnforcePriorVersion: job.Version }
    await callApi({
      call: (api) => api.v1.revertJob({ params, query, body }),
      successMessage: `Version ${version.Version} is being deployed.`,
    })
  }
  const setStable = async () => {
    const body = { JobID: job.ID, JobVersion: version.Version, Stable: !version.Stable }
    await callApi({
      call: (api) => api.v1.setJobStability({ params, query, body }),
      successMessage: version.Stable
        ? 'The version is marked unstable.'
        : 'The version is marked stable.',
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
          <option value="">the previous version</option>
          {all.map(({ Version }) => (
            <option key={Version} value={Version}>
              version {Version}
            </option>
          ))}
        </select>
      </label>
      <ActionButton
        disabledReason={jobDisabledReason.setStable(job, permissions)}
        onAction={setStable}
      >
        {version.Stable ? 'Mark unstable' : 'Mark stable'}
      </ActionButton>
      <ActionButton
        kind="primary"
        disabledReason={
          isCurrent ? 'This is the current version.' : jobDisabledReason.revert(job, permissions)
        }
        onAction={revert}
      >
        Revert to version {version.Version}…
      </ActionButton>
    </>
  )
}
