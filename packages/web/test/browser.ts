import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { chromium, type BrowserContext, type Page } from 'playwright-core'
import { findPackage, unpackBrowser } from './packaged-browser.ts'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // The tabs of a file share what was compiled of the pages and of axe.
  '--renderer-process-limit=1',
]
/** The shell is Chromium without a window, and takes a quarter less of processor time. */
const PROGRAMS = ['chromium-headless-shell', 'chromium']
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
/** WCAG 2.2, levels A and AA. */
const AXE_RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
/** Of what is right axe need not say where it is. */
const AXE_OPTIONS = { resultTypes: ['violations'] }
/** A theme changes nothing but colours: the rest of the rules need not be asked twice. */
const AXE_RUNS = [
  ['light', AXE_RULES],
  ['dark', ['color-contrast']],
] as const
/** Two cores, many tests: what takes a second alone may take many. */
const WAIT_MS_MAX = 120_000

/** For what a page that is drawn already does by itself. */
const HOLDS_MS_MAX = 60_000

/** An address of the pages at which there is none. */
const NOWHERE = '/ui/nowhere'
const DRAWN = '#main h1, #main [role=alert]'

/** Why the tests of a file cannot run here; false when they can. For `test(name, { skip })`. */
export const noBrowser: string | false =
  findChromium() === undefined && findPackage() === undefined
    ? `there is no Chromium on this machine (Debian: apt-get install ${PROGRAMS[0]})`
    : false

function findChromium(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin']
  const named = process.env['REEVE_CHROMIUM']
  const places = [
    ...(named === undefined ? [] : [named]),
    ...PROGRAMS.flatMap((program) => folders.map((folder) => join(folder, program))),
  ]
  return places.find((place) => existsSync(place))
}

/** One Chromium, for the tests of one file. */
export interface Browser {
  /** A page in a tab of its own; `tokens` as a person who has signed in. */
  open(url: string, options?: OpenOptions): Promise<Page>
  /** The same for as long as `work` takes: a tab that stays open holds a connection. */
  within(options: OpenOptions, work: (page: Page) => Promise<void>): Promise<void>
  close(): Promise<void>
}

interface OpenOptions {
  readonly workload?: string
  readonly governance?: string
  readonly width?: number
}

/** The machine's own Chromium, else the one of the development dependency. */
async function getChromium(): Promise<{ executablePath: string; env?: Record<string, string> }> {
  const executablePath = findChromium()
  if (executablePath !== undefined) return { executablePath }
  const { program, environment } = await unpackBrowser(findPackage() ?? '')
  return { executablePath: program, env: { ...environmentOf(process.env), ...environment } }
}

function environmentOf(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  )
}

export async function startBrowser(): Promise<Browser> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-chromium-'))
  const context = await chromium.launchPersistentContext(folder, {
    ...(await getChromium()),
    headless: true,
    args: FLAGS,
    viewport: { width: 1280, height: 800 },
  })
  context.setDefaultTimeout(WAIT_MS_MAX)
  return {
    open: (url, options = {}) => openPage(context, url, options),
    within: async (options, work) => {
      const page = await openPage(context, 'about:blank', options)
      try {
        await work(page)
      } finally {
        await page.close()
      }
    },
    close: async () => {
      await context.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function openPage(context: BrowserContext, url: string, options: OpenOptions): Promise<Page> {
  const page = await context.newPage()
  const { width, workload, governance } = options
  if (width !== undefined) await page.setViewportSize({ width, height: 844 })
  if (workload !== undefined || governance !== undefined) {
    const tokens = JSON.stringify(JSON.stringify({ workload, governance }))
    await page.addInitScript(`sessionStorage.setItem('reeve.tokens', ${tokens})`)
  }
  await page.goto(url)
  return page
}

/**
 * Goes there as a link does, and from a page that has no heading: what `settle` finds then is of
 * the new page, which begins anew however alike the two are.
 */
export async function follow(page: Page, href: string): Promise<void> {
  await go(page, NOWHERE)
  assert.ok(await holds(page, `document.querySelector('${DRAWN}') === null`), page.url())
  await go(page, href)
}

async function go(page: Page, href: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(href)})
    dispatchEvent(new PopStateEvent('popstate'))`,
  )
}

/** Nothing of a page leaves a telephone's screen; charts take a moment to follow it. */
export async function checkNarrow(page: Page): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 })
  const main = `document.querySelector('#main')`
  const fits = await holds(page, `${main}.scrollWidth <= ${main}.clientWidth`)
  assert.ok(fits, `${page.url()} is too wide for 390 px`)
}

/** The page at rest: drawn or refused, and nothing on its way. */
export async function settle(page: Page): Promise<void> {
  await page.locator(DRAWN).first().waitFor()
  await finishLoading(page)
}

/** A part of a drawn page may begin to load later, as a chart does with its first values. */
async function finishLoading(page: Page): Promise<void> {
  const isAtRest = await holds(page, `document.querySelector('.loading') === null`)
  assert.ok(isAtRest, `${page.url()} goes on loading`)
}

/**
 * Whether something comes to hold in the page. The policy of the pages keeps scripts from being
 * made of texts, which waiting for a function would do.
 */
async function holds(page: Page, expression: string): Promise<boolean> {
  const seen: unknown = await page.evaluate(
    `new Promise((resolve) => {
      const look = () => {
        if (${expression}) resolve(true)
        else if (performance.now() > limit) resolve(false)
        else requestAnimationFrame(look)
      }
      const limit = performance.now() + ${HOLDS_MS_MAX}
      look()
    })`,
  )
  return seen === true
}

/** Holds the page as it is now against WCAG 2.2 AA, in both themes. */
export async function checkAccess(page: Page): Promise<void> {
  for (const [colorScheme, rules] of AXE_RUNS) {
    await page.emulateMedia({ colorScheme })
    assert.deepEqual(await findBarriers(page, rules), [], `${page.url()} in ${colorScheme}`)
  }
}

/** What axe has against the page as it is now: the rule, and what breaks it. */
export async function findBarriers(
  page: Page,
  rules: readonly string[] = AXE_RULES,
): Promise<readonly string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined')
    await page.evaluate(readFileSync(AXE, 'utf8'))
  await finishLoading(page)
  const found: unknown = await page.evaluate(
    `axe.run(document, ${JSON.stringify({ ...AXE_OPTIONS, runOnly: rules })})
      .then(({ violations }) => violations.map(({ id, nodes }) =>
        [id, ...nodes.map(({ html }) => html).slice(0, 3)].join(' ')))`,
  )
  return Array.isArray(found) ? found.map(String) : []
}
