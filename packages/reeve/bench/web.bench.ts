/**
 * The web UI in Chromium on a server with 100,000 jobs, 110,000 allocations and 5,000 nodes, and on
 * one with a hundredth of that: time to first content, and costs of scrolling, searching and
 * updates. `node packages/reeve/bench/web.bench.ts [--quick]`
 *
 * Needs Chromium (`REEVE_CHROMIUM` or a Debian package) and a built web UI. The nodes are rows
 * only: nothing sends heartbeats, so the server's heartbeat timeout is an hour.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createClient, type Client } from '@reeve/sdk'
import { chromium, type Browser } from 'playwright-core'
import { fillCluster, idOf, LARGE_JOB, type ClusterSize } from './filled-cluster.ts'
import { fixed, isQuick, megabytes, printTable, timed, whole } from './measure.ts'
import { MeasuredPage, type Measured } from './measured-page.ts'
import { startProgram, type RunningProgram } from './program.ts'

const SMALL: ClusterSize = { nodes: 50, jobs: 1_000, large: 100 }
const LARGE: ClusterSize = isQuick
  ? { nodes: 500, jobs: 10_000, large: 3_000 }
  : { nodes: 5_000, jobs: 100_000, large: 10_000 }
/** Each write causes about four events: a job, two evaluation states, an allocation. */
const WRITES_PER_SECOND = 25
const LIVE_MS = isQuick ? 2_000 : 6_000
const SCROLL_MS = isQuick ? 1_000 : 4_000

const ROWS = `document.querySelectorAll('tbody tr[data-row]').length >= 10`
const HEAD = `document.querySelector('#main h1') !== null`

/** The addresses of the pages, as in docs/reference/web-ui.md. */
const ui = (path: string): string => `/ui${path}`
const JOBS = ui('/jobs')
const LARGE_JOB_PAGE = ui(`/jobs/${LARGE_JOB}?namespace=default`)

interface BenchPage {
  readonly name: string
  readonly href: string
  /** An expression that becomes true when there is content. */
  readonly ready: string
}

function pagesOf({ nodes }: ClusterSize): readonly BenchPage[] {
  const state = `document.querySelector('.group-row .square, .group-row .alloc-bar') !== null`
  const lead = `document.querySelector('#main').textContent`
  return [
    { name: 'jobs', href: JOBS, ready: ROWS },
    { name: 'job', href: ui('/jobs/service-42?namespace=default'), ready: state },
    { name: 'job, large', href: LARGE_JOB_PAGE, ready: state },
    {
      name: 'allocations of it',
      href: ui(`/jobs/${LARGE_JOB}/allocations?namespace=default`),
      ready: ROWS,
    },
    { name: 'allocations', href: ui('/allocations'), ready: ROWS },
    {
      name: 'allocation',
      href: ui(`/allocations/${idOf('allocation', 42)}`),
      ready: `${HEAD} && document.querySelector('#main .panel') !== null`,
    },
    { name: 'nodes', href: ui('/nodes'), ready: ROWS },
    {
      name: 'node',
      href: ui(`/nodes/${idOf('node', 7)}`),
      ready: `${HEAD} && document.querySelector('#main .panel') !== null`,
    },
    {
      name: 'topology, first',
      href: ui('/topology'),
      ready: `/[1-9]\\d* nodes, [1-9]/.test(${lead})`,
    },
    {
      name: 'topology, all',
      href: ui('/topology?by=cpu'),
      ready: `${lead}.includes('${nodes} nodes') && !${lead}.includes('being read')`,
    },
    { name: 'evaluations', href: ui('/evaluations'), ready: ROWS },
    { name: 'events', href: ui('/events'), ready: HEAD },
  ]
}

/** The full browser is preferred, because it renders like the ones users have. */
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-headless-shell'] as const

const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
const browser = await chromium.launch({
  executablePath: findChromium(),
  headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
})
try {
  const small = await onServer('small', SMALL, (program) => benchPages(browser, program, SMALL))
  const large = await onServer('large', LARGE, async (program) => {
    const pages = await benchPages(browser, program, LARGE)
    const use = await benchUse(browser, program)
    return { pages, use }
  })
  report(small, large.pages)
  reportUse(large.use)
} finally {
  await browser.close()
  await rm(home, { recursive: true })
}

function findChromium(): string {
  const named = process.env['REEVE_CHROMIUM']
  const found = named ?? CHROMIUM.find((place) => existsSync(place))
  if (found === undefined) throw new Error(`there is none of ${CHROMIUM.join(', ')}`)
  return found
}

async function onServer<T>(
  name: string,
  size: ClusterSize,
  work: (program: RunningProgram) => Promise<T>,
): Promise<T> {
  const directory = join(home, name)
  await fillCluster(directory, size)
  const program = await startProgram({
    directory,
    isServer: true,
    environment: {
      REEVE_ACL: 'false',
      REEVE_FAILOVER_HEARTBEAT_TTL: '1h',
      REEVE_HEARTBEAT_GRACE: '1h',
    },
  })
  try {
    return await work(program)
  } finally {
    await program.stop()
  }
}

/** A first visit, a second visit, and a link within the page. */
interface PageFigures {
  readonly name: string
  readonly cold: Measured
  readonly again: Measured
  readonly within: Measured
  readonly heap: number
}

async function benchPages(
  of: Browser,
  { address }: RunningProgram,
  size: ClusterSize,
): Promise<readonly PageFigures[]> {
  const figures: PageFigures[] = []
  for (const { name, href, ready } of pagesOf(size)) {
    const context = await of.newContext({ viewport: { width: 1280, height: 800 } })
    const cold = await MeasuredPage.open(context)
    const coldly = await cold.load(address + href, ready)
    await cold.close()
    const page = await MeasuredPage.open(context)
    const again = await page.load(address + href, ready)
    await page.load(address + ui('/session'), HEAD)
    const within = await page.follow(href, ready)
    figures.push({ name, cold: coldly, again, within, heap: await page.heap() })
    await context.close()
  }
  return figures
}

function report(small: readonly PageFigures[], large: readonly PageFigures[]): void {
  const allocations = whole(LARGE.jobs + LARGE.large)
  process.stdout.write(`First content, with ${whole(LARGE.jobs)} jobs, ${allocations} allocations
and ${whole(LARGE.nodes)} nodes
load average ${loadavg().map(fixed).join(' ')}
`)
  printTable(
    [
      '',
      'cold ms',
      'again ms',
      'within ms',
      'to small',
      'thread ms',
      'longest ms',
      'slowest request ms',
      'KB',
      'heap',
    ],
    large.map((page, at) => {
      const before = small[at]?.again.firstMs ?? Number.NaN
      return [
        page.name,
        whole(page.cold.firstMs),
        whole(page.again.firstMs),
        whole(page.within.firstMs),
        fixed(page.again.firstMs / before),
        whole(page.again.taskMs),
        whole(page.again.longestMs),
        whole(page.again.requestMs),
        whole(page.again.bytes / 1_024),
        megabytes(page.heap),
      ]
    }),
  )
  process.stdout
    .write(`cold: an empty browser; again: a new tab with its cache; within: a link of the page
to small: again, over the same with ${whole(SMALL.jobs)} jobs and ${whole(SMALL.nodes)} nodes
thread, longest: CPU time of the main thread until then, and its longest task by the clock
(below 50 ms none counts)
slowest request, KB: of the API, for again

`)
}

interface Use {
  readonly what: string
  readonly ms: number | undefined
  readonly taskMs: number
  readonly longestMs: number
  readonly note: string
}

/** User interactions, and updates by the cluster. */
async function benchUse(of: Browser, program: RunningProgram): Promise<readonly Use[]> {
  const context = await of.newContext({ viewport: { width: 1280, height: 800 } })
  const page = await MeasuredPage.open(context)
  const uses = [...(await scrolled(page, program)), ...(await searched(page, program))]
  const client = createClient({ address: program.address })
  for (const [name, href, ready] of [
    ['jobs', JOBS, ROWS],
    ['job, large', LARGE_JOB_PAGE, HEAD],
    ['topology', ui('/topology'), HEAD],
    ['events', ui('/events'), HEAD],
  ] as const) {
    await page.load(program.address + href, ready)
    await page.page.getByText('Live', { exact: true }).waitFor()
    uses.push(await lived(page, client, name))
  }
  await context.close()
  return uses
}

/** Scrolls like a mouse wheel: 100 rows a second and more, while pages are requested. */
async function scrolled(page: MeasuredPage, { address }: RunningProgram): Promise<Use[]> {
  await page.load(address + JOBS, ROWS)
  await page.mark()
  const answer = await page.page.evaluate(`new Promise((resolve) => {
    const main = document.querySelector('#main')
    const begin = performance.now()
    let [last, longest, frames, late] = [begin, 0, 0, 0]
    const step = (now) => {
      longest = Math.max(longest, now - last)
      late += now - last > 50 ? 1 : 0
      frames += 1
      last = now
      main.scrollBy(0, 120)
      if (now - begin < ${SCROLL_MS}) requestAnimationFrame(step)
      else resolve([longest, frames, late, Number(document.querySelector('tbody tr[data-row]:last-of-type')?.dataset.row ?? 0)])
    }
    requestAnimationFrame(step)
  })`)
  // Proof: the expression returns these numbers.
  const [longest, frames, late] = answer as [number, number, number]
  const note = `${frames} frames in ${SCROLL_MS / 1_000} s, ${late} of them later than 50 ms, the latest ${whole(longest)} ms`
  return [{ what: 'scroll the jobs', ms: undefined, ...(await page.cost()), note }]
}

async function searched(page: MeasuredPage, { address }: RunningProgram): Promise<Use[]> {
  const uses: Use[] = []
  const last = String(LARGE.jobs - 1)
  for (const [what, text, wanted] of [
    ['search a job by its id', `service-${last}`, 1],
    ['search by a part of ids', '-42', 10],
    ['search for what is not there', 'nothing-like-that', 0],
  ] as const) {
    await page.load(address + JOBS, ROWS)
    const field = page.page.getByRole('searchbox', { name: /^Search jobs/ })
    await field.focus()
    await page.mark()
    await page.page.keyboard.type(text.slice(0, -1), { delay: 30 })
    const fromMs = Number(await page.page.evaluate('performance.now()'))
    await page.page.keyboard.type(text.slice(-1))
    const rows = `[...document.querySelectorAll('tbody tr[data-row] a.row-link')]`
    const found =
      wanted === 0
        ? `document.body.textContent.includes('No job is like that')`
        : `${rows}.length >= ${wanted} && ${rows}.every((one) => one.textContent.includes(${JSON.stringify(text)}))`
    const ms = (await page.until(found)) - fromMs
    uses.push({
      what,
      ms,
      ...(await page.cost()),
      note: 'from the last key; 200 ms of it are patience',
    })
  }
  return uses
}

async function lived(page: MeasuredPage, client: Client, name: string): Promise<Use> {
  await page.mark()
  const tookMs = await timed(() => writeJobs(client))
  const cost = await page.cost()
  const note = `${whole((1_000 * cost.taskMs) / tookMs)} ms of each second; heap ${megabytes(await page.heap())}`
  return { what: `live: ${name}`, ms: undefined, ...cost, note }
}

/** Updates jobs at a steady rate, the newest and others. */
async function writeJobs(client: Client): Promise<void> {
  const count = Math.round((WRITES_PER_SECOND * LIVE_MS) / 1_000)
  const startMs = performance.now()
  for (let at = 0; at < count; at++) {
    const id = `service-${at % 2 === 0 ? LARGE.jobs - 1 - (at % 40) : (at * 997) % LARGE.jobs}`
    const { data: job } = await client.v1.readJob({ params: { job_id: id } })
    await client.v1.registerJob({ body: { Job: { ...job, Priority: 40 + (at % 20) } } })
    const dueMs = startMs + ((at + 1) * 1_000) / WRITES_PER_SECOND
    await wait(Math.max(1, dueMs - performance.now()))
  }
}

function reportUse(uses: readonly Use[]): void {
  process.stdout
    .write(`In use, with the large cluster; live: ${WRITES_PER_SECOND} jobs are changed each second,
which makes about ${4 * WRITES_PER_SECOND} events\n`)
  printTable(
    ['', 'ms', 'thread ms', 'longest ms', ''],
    uses.map(({ what, ms, taskMs, longestMs, note }) => [
      what,
      ms === undefined ? '' : whole(ms),
      whole(taskMs),
      whole(longestMs),
      note,
    ]),
  )
}
