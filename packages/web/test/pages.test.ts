import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  ALLOCATION_TABS,
  JOB_TABS,
  NODE_POOL_TABS,
  NODE_TABS,
  ORGANIZATION_TABS,
  paths,
  POLICY_PANES,
  WORKSPACE_TABS,
} from '../src/paths.ts'
import { routes } from '../src/routes/all.ts'
import {
  checkAccess,
  checkNarrow,
  noBrowser,
  settle,
  startBrowser,
  type Browser,
} from './browser.ts'
import { startProgram, type Program } from './program.ts'
import {
  JOB,
  makeSite,
  ORGANIZATION,
  POOL,
  SERVICE,
  VARIABLE,
  WORKSPACE,
  type Site,
} from './site.ts'

let program: Program
let browser: Browser
let site: Site

before(async () => {
  if (noBrowser !== false) return
  ;[program, browser] = await Promise.all([startProgram(['--acl']), startBrowser()])
  site = await makeSite(program)
})
after(async () => {
  if (noBrowser !== false) return
  await browser.close()
  await program.stop()
})

const skip = noBrowser
const job = { namespace: 'default', id: JOB }

/** Where each page of the site map is seen, with all its tabs. */
const ADDRESSES: Readonly<Record<string, () => readonly string[]>> = {
  '/': () => [paths.home()],
  '/sign-in': () => [paths.signIn()],
  '/session': () => [paths.session()],
  '/jobs': () => [paths.jobs()],
  '/jobs/:jobId': () => [paths.job(job)],
  '/jobs/:jobId/:tab': () => [
    ...JOB_TABS.slice(1).map((tab) => paths.job(job, tab)),
    `${paths.job(job, 'definition')}&edit=yes`,
    `${paths.job(job, 'logs')}&q=hello&type=stdout`,
  ],
  '/run': () => [paths.runJob()],
  '/allocations': () => [paths.allocations(), `${paths.allocations()}?order=oldest`],
  '/allocations/:allocId': () => [paths.allocation(site.allocation)],
  '/allocations/:allocId/:tab': () => [
    ...ALLOCATION_TABS.slice(1).map((tab) => paths.allocation(site.allocation, tab)),
    paths.allocationFiles(site.allocation, '/alloc/logs'),
  ],
  '/nodes': () => [paths.nodes()],
  '/nodes/:nodeId': () => [paths.node(site.node)],
  '/nodes/:nodeId/:tab': () => NODE_TABS.slice(1).map((tab) => paths.node(site.node, tab)),
  '/node-pools': () => [paths.nodePools()],
  '/node-pools/:poolName': () => [
    paths.nodePool(POOL),
    ...NODE_POOL_TABS.map((tab) => paths.nodePool('default', tab)),
  ],
  '/topology': () => [paths.topology()],
  '/deployments': () => [paths.deployments()],
  '/deployments/:deploymentId': () => [paths.deployment(site.deployment)],
  '/evaluations': () => [paths.evaluations()],
  '/evaluations/:evaluationId': () => [paths.evaluation(site.evaluation)],
  '/events': () => [paths.events()],
  '/services': () => [paths.services()],
  '/services/:serviceName': () => [paths.service({ namespace: 'default', id: SERVICE })],
  '/variables': () => [paths.variables()],
  '/variables/:path': () => {
    const href = paths.variable({ namespace: 'default', id: VARIABLE })
    return [href, `${href}&edit=yes`]
  },
  '/new-variable': () => [paths.newVariable()],
  '/namespaces': () => [paths.namespaces(), `${paths.namespaces()}?edit=default`],
  '/access/tokens': () => [paths.tokens()],
  '/access/tokens/:accessorId': () => [paths.token(site.tokenAccessor)],
  '/access/policies': () => [paths.accessPolicies()],
  '/access/policies/:policyName': () => [paths.accessPolicy('lookers')],
  '/access/new-policy': () => [paths.newAccessPolicy()],
  '/access/roles': () => [paths.roles()],
  '/organizations': () => [paths.organizations()],
  '/organizations/:organization': () => [paths.organization(ORGANIZATION)],
  '/organizations/:organization/projects/:projectId': () => [
    paths.project(ORGANIZATION, site.project),
  ],
  '/organizations/:organization/workspaces/:workspaceName': () =>
    WORKSPACE_TABS.map((tab) => paths.workspace(ORGANIZATION, WORKSPACE, tab)),
  '/organizations/:organization/runs/:runId': () => [paths.run(ORGANIZATION, site.run)],
  '/organizations/:organization/teams/:teamId': () => [paths.team(ORGANIZATION, site.team)],
  '/organizations/:organization/policies/:policyId': () =>
    POLICY_PANES.map((pane) => paths.policy(ORGANIZATION, site.policy, { pane, line: 2 })),
  '/organizations/:organization/policy-sets/:policySetId': () => [
    paths.policySet(ORGANIZATION, site.policySet),
  ],
  '/organizations/:organization/:tab': () =>
    ORGANIZATION_TABS.slice(1).map((tab) => paths.organization(ORGANIZATION, tab)),
  '/verdicts': () => [paths.verdicts()],
  '/verdicts/:verdictId': () => [paths.verdict('default', site.verdict)],
}

test('every page of the site map is walked', () => {
  assert.deepEqual(
    routes.map(({ path }) => path),
    Object.keys(ADDRESSES),
  )
})

/** What the browser tells of faults, in the order it tells them. */
function faultsOf(page: Page): readonly string[] {
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  })
  page.on('pageerror', ({ message }) => faults.push(message))
  return faults
}

/** The one part of the pages for which there is no command. */
const WITHOUT_COMMAND = [paths.organization(ORGANIZATION, 'tag-keys')]

for (const [path, addresses] of Object.entries(ADDRESSES))
  test(`${path} has no fault, no barrier, and a way for the terminal`, { skip }, () =>
    browser.within({ workload: site.manager, governance: site.manager }, async (page) => {
      const faults = faultsOf(page)
      for (const href of addresses()) {
        await page.setViewportSize({ width: 1280, height: 800 })
        await page.goto(program.address + href)
        await settle(page)
        await checkAccess(page)
        await checkCommands(page, href)
        await checkNarrow(page)
        assert.equal(await page.getByRole('alert').count(), 0, `${href} is refused`)
        assert.deepEqual(faults, [], href)
      }
    }),
  )

/** The manual of the command line names every command; its own tests hold it to that. */
const MANUAL = readFileSync(join(import.meta.dirname, '../../../docs/cli.md'), 'utf8')
const COMMANDS = Array.from(MANUAL.matchAll(/`([a-z][a-z-]*(?: [a-z][a-z-]*)*)/g), ([, name]) =>
  String(name),
)

/** The same in a terminal: a command that exists, and a request. */
async function checkCommands(page: Page, href: string): Promise<void> {
  const lines = page.locator('.command-line .command code')
  const texts = await lines.allTextContents()
  assert.match(texts.at(-1) ?? '', /^curl .*http/, `${href} shows no request`)
  if (WITHOUT_COMMAND.includes(href)) return
  const [name = '', ...words] = (texts.at(-2) ?? '').split(' ')
  assert.equal(name, 'reeve', `${href} shows no command`)
  const line = words.join(' ')
  const isKnown = COMMANDS.some((command) => `${line} `.startsWith(`${command} `))
  assert.ok(isKnown, `${href} shows ${line}, which is no command`)
}

/** What anybody may press: it changes nothing on the server. */
const HARMLESS = [
  /^Copy/,
  /^Download/,
  /^(Pause|Clear|Go on)/,
  /^Try again$/,
  /^Sign (in|out)/,
  /^(Show|Hide) the values$/,
  /^(Cancel|Close)$/,
  /^Leave it as it is$/,
  /^Throw the draft away$/,
  /^Open in the editor$/,
  /new (allocations|evaluations): show them$/,
]

for (const [path, addresses] of Object.entries(ADDRESSES))
  test(`${path} offers a guest only what a guest may do, and says why`, { skip }, () =>
    browser.within({ workload: site.guest, governance: site.governanceGuest }, async (page) => {
      for (const href of addresses()) {
        await page.goto(program.address + href)
        await settle(page)
        const offered = (await namesOf(page, 'not([aria-disabled=true]):enabled')).filter(
          (name) => !HARMLESS.some((one) => one.test(name)),
        )
        assert.deepEqual(offered, [], `${href} offers this`)
        const silent = 'is([aria-disabled=true]):not([aria-describedby]):not([title])'
        assert.deepEqual(await namesOf(page, silent), [], `${href} does not say why not`)
      }
    }),
  )

/** What the buttons of the page say that fit. */
async function namesOf(page: Page, which: string): Promise<readonly string[]> {
  const names: unknown = await page.evaluate(
    `[...document.querySelectorAll('#main button:${which}')].map((one) =>
      one.textContent.trim() || one.title || one.getAttribute('aria-label') || '?')`,
  )
  return Array.isArray(names) ? names.map(String) : []
}
