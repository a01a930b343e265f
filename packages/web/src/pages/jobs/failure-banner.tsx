import {
  failuresOfJob,
  type AllocationFailure,
  type CheckResult,
  type Failure,
  type Job,
  type NextAttempt,
  type Remedy,
} from '@reeve/contract'
import type { ReactNode } from 'react'
import { useApiQuery } from '../../data/api-query.ts'
import { RelativeTime, Until } from '../../components/relative-time.tsx'
import { CopyButton } from '../../components/command-line.tsx'
import { Icon } from '../../components/icon.tsx'
import { dateFromNs, failureTitle } from '../../format.ts'
import { paths, type JobName } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useLocation } from '../../routing/location.ts'
import {
  useJobAllocations,
  useJobDenials,
  useJobEvaluations,
  useJobExplanation,
} from './job-data.ts'

/** Maximum number of explained causes; further ones are counted. */
const CAUSES_SHOWN_MAX = 3

interface JobFailuresProps {
  readonly job: Pick<Job, 'Stop' | 'Version' | 'SubmitTime'>
  readonly name: JobName
}

/** Why a job fails, a banner for each cause. */
export function JobFailures({ job, name }: JobFailuresProps) {
  const { data: allocations } = useJobAllocations(name)
  const { data: evaluations } = useJobEvaluations(name)
  const { data: verdicts } = useJobDenials(name)
  const records = {
    allocations: allocations ?? [],
    evaluations: evaluations ?? [],
    verdicts: verdicts ?? [],
  }
  const all = failuresOfJob(job, records, Date.now())
  const omittedCount = all.length - CAUSES_SHOWN_MAX
  return (
    <>
      {all.slice(0, CAUSES_SHOWN_MAX).map((failure) => (
        <JobFailureBanner
          key={failure.AllocID + failure.Text}
          job={name}
          failure={failure}
          node={allocations?.find(({ ID }) => ID === failure.AllocID)?.NodeID}
        />
      ))}
      {omittedCount > 0 && (
        <p className="note tone-bad">
          <Link href={paths.job(name, 'allocations')}>
            {omittedCount} more {omittedCount === 1 ? 'cause' : 'causes'}
          </Link>
        </p>
      )}
    </>
  )
}

interface JobFailureBannerProps {
  readonly job: JobName
  readonly failure: Failure
  /** The node of the allocation. */
  readonly node?: string | undefined
}

/** The banner of one cause. */
export function JobFailureBanner({ job, failure, node }: JobFailureBannerProps) {
  if (failure.Kind === 'unplaced') return <UnplacedBanner job={job} failure={failure} />
  if (failure.Kind === 'denied') return <DenialBanner job={job} failure={failure} />
  return (
    <FailureBanner
      job={job}
      allocation={failure.AllocID}
      node={node}
      count={failure.Count}
      text={failureTitle(failure)}
    />
  )
}

/** Suggested changes in a banner; the page of the reasons lists all. */
const CHANGES_SHOWN_MAX = 3

/** Why no node takes allocations of a group, and the smallest changes that would place them. */
function UnplacedBanner({ job, failure }: JobFailureBannerProps) {
  const { data } = useJobExplanation(job)
  const group = data?.Groups.find(({ TaskGroup }) =>
    failure.Text.startsWith(`group "${TaskGroup}": `),
  )
  const changes = group?.Changes.slice(0, CHANGES_SHOWN_MAX) ?? []
  return (
    <section className="failure-banner tone-warn" aria-label="Waiting for capacity">
      <h2>
        <Icon name="pending" /> Waiting for capacity: {failure.Text}
      </h2>
      {changes.length > 0 && (
        <ul className="reasons">
          {changes.map(({ Text, Steps, Places }) => {
            const line = Steps.find(({ Place }) => Place !== undefined)?.Place?.Line
            return (
              <li key={Text}>
                {Text} <span className="quiet">(places {Places})</span>{' '}
                {line !== undefined && (
                  <Link href={paths.editJob(job, line)}>Edit at line {line}</Link>
                )}
              </li>
            )
          })}
        </ul>
      )}
      <p>
        <Link href={paths.job(job, 'explain')}>What every node lacks</Link>
      </p>
    </section>
  )
}

/** A submission that policies denied: the registered version is older. */
function DenialBanner({ job, failure }: JobFailureBannerProps) {
  const date = dateFromNs(failure.Time)
  return (
    <section className="failure-banner tone-bad" aria-label="Denied">
      <h2>
        <Icon name="failed" /> Denied: {failure.Text}
      </h2>
      <p className="quiet">
        {date !== undefined && (
          <>
            Submitted <RelativeTime date={date} />.{' '}
          </>
        )}
        The registered version is unchanged.
      </p>
      <p>
        <Link href={paths.job(job, 'verdicts')}>Policy decisions</Link>
      </p>
    </section>
  )
}

interface FailureBannerProps {
  readonly job: JobName
  readonly allocation: string
  /** The node of the allocation. */
  readonly node?: string | undefined
  /** Allocations that fail the same way. */
  readonly count?: number
  /** Shown until the explanation is loaded, or if there is none. */
  readonly text?: string
}

/** Shows the cause of a failure, the last log lines, the next attempt and the remedies. */
export function FailureBanner(props: FailureBannerProps) {
  const { job, allocation, node, count = 1, text = '' } = props
  const { data } = useApiQuery(
    ['allocation-failure', allocation],
    (api, signal) =>
      api.v1.readAllocationFailure({
        params: { alloc_id: allocation },
        query: { namespace: job.namespace },
        signal,
      }),
    { watches: [{ topic: 'Allocation', key: allocation }] },
  )
  const failure = data?.Failure ?? undefined
  if (data === undefined || failure === undefined)
    return text === '' ? null : <Banner title={text} allocation={allocation} count={count} />
  const { Task, Time } = failure
  return (
    <Banner
      title={failureTitle(failure)}
      allocation={allocation}
      count={count}
      date={dateFromNs(Time)}
    >
      <Evidence failure={data} />
      {data.NextAttempt !== null && <NextAttemptLine attempt={data.NextAttempt} />}
      <ul className="remedies">
        {data.Remedies.map((remedy) => (
          <RemedyRow
            key={remedy.Kind}
            remedy={remedy}
            href={remedyHref(remedy, { job, allocation, node, task: Task })}
          />
        ))}
      </ul>
    </Banner>
  )
}

interface BannerProps {
  readonly title: string
  readonly allocation: string
  readonly count: number
  readonly date?: Date | undefined
  readonly children?: ReactNode
}

function Banner({ title, allocation, count, date, children }: BannerProps) {
  return (
    <section className="failure-banner tone-bad" aria-label="Failure">
      <h2>
        <Icon name="failed" /> {title}
      </h2>
      <p className="quiet">
        {count > 1 && `${count} allocations fail this way, the newest is `}
        <Link href={paths.allocation(allocation)}>{allocation.slice(0, 8)}</Link>
        {date !== undefined && (
          <>
            , <RelativeTime date={date} />
          </>
        )}
      </p>
      {children}
    </section>
  )
}

function Evidence({ failure }: { readonly failure: AllocationFailure }) {
  const { Check, Lines, LinesFrom, LinesOmitted } = failure
  return (
    <>
      {Check !== undefined && <FailedCheck check={Check} />}
      {Lines !== undefined && Lines.length > 0 && (
        <>
          <p className="quiet">Last lines of {LinesFrom}</p>
          <pre className="failure-lines" tabIndex={0}>
            {Lines.join('\n')}
          </pre>
        </>
      )}
      {LinesOmitted !== undefined && <p className="quiet">No log lines: {LinesOmitted}</p>}
    </>
  )
}

function FailedCheck({ check }: { readonly check: CheckResult }) {
  const { Check, Service, StatusCode, Output } = check
  return (
    <>
      <p>
        Check <b>{Check}</b> of service <b>{Service}</b>
        {StatusCode === undefined ? ' failed' : ` answered ${StatusCode}`}
      </p>
      {Output.trim() !== '' && (
        <pre className="failure-lines" tabIndex={0}>
          {Output.trimEnd()}
        </pre>
      )}
    </>
  )
}

function NextAttemptLine({ attempt: { Text, Time, AllocID } }: { readonly attempt: NextAttempt }) {
  const date = dateFromNs(Time)
  return (
    <p>
      <b>Next attempt</b> {date !== undefined && <Until date={date} />} {Text}
      {AllocID !== '' && (
        <>
          {' '}
          <Link href={paths.allocation(AllocID)}>{AllocID.slice(0, 8)}</Link>
        </>
      )}
    </p>
  )
}

interface RemedyRowProps {
  readonly remedy: Remedy
  readonly href: string
}

function RemedyRow({ remedy: { Text, Command }, href }: RemedyRowProps) {
  const location = useLocation()
  const isCurrentPage = new URL(href, location).pathname === location.pathname
  return (
    <li>
      {isCurrentPage ? <span>{Text}</span> : <Link href={href}>{Text}</Link>}
      <div className="command">
        <code tabIndex={0}>{Command}</code>
        <CopyButton text={Command} what="the command" />
      </div>
    </li>
  )
}

interface FailedAllocation {
  readonly job: JobName
  readonly allocation: string
  readonly node: string | undefined
  readonly task: string
}

/** Returns the page on which a remedy is applied. */
function remedyHref(
  { Kind, Place }: Remedy,
  { job, allocation, node, task }: FailedAllocation,
): string {
  switch (Kind) {
    case 'read-logs':
      return paths.allocation(allocation, 'logs', task)
    case 'write-variable':
      return paths.newVariable({ namespace: job.namespace })
    case 'edit-job':
      return paths.editJob(job, Place?.Line)
    case 'revert-job':
      return paths.job(job, 'versions')
    case 'explain-job':
      return paths.job(job, 'explain')
    case 'show-denial':
      return paths.job(job, 'verdicts')
    case 'show-node':
      return node === undefined ? paths.allocation(allocation) : paths.node(node)
    case 'read-checks':
    case 'show-allocation':
      return paths.allocation(allocation)
  }
}
