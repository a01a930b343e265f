import assert from 'node:assert/strict'
import { createClient, type Client } from '@reeve/sdk'
import { after, before, test } from 'node:test'
import { checkAccess, noBrowser, startBrowser, type Browser } from './browser.ts'
import { runFile, serviceFile } from './jobs.ts'
import { startProgram, type Program } from './program.ts'

let program: Program
let browser: Browser
/** With the management token. */
let manager: Client
let managerSecret = ''
/** A token that may read the jobs of the default namespace, and nothing else. */
let readerSecret = ''

before(async () => {
  if (noBrowser !== false) return
  ;[program, browser] = await Promise.all([startProgram(['--acl']), startBrowser()])
  const { data: token } = await program.client.v1.bootstrapAcl({ body: {} })
  managerSecret = token.SecretID
  manager = createClient({ address: program.address, token: managerSecret })
  await manager.v1.writeAclPolicy({
    params: { policy_name: 'readers' },
    body: { Name: 'readers', Rules: 'namespace "default" { policy = "read" }' },
  })
  const { data: reader } = await manager.v1.createAclToken({
    body: { Name: 'Ada', Type: 'client', Policies: ['readers'] },
  })
  readerSecret = reader.SecretID
  await runFile(manager, serviceFile('guarded', { count: 1 }))
})
after(async () => {
  if (noBrowser !== false) return
  await browser.close()
  await program.stop()
})

const skip = noBrowser
const here = (path: string) => `${program.address}/ui${path}`

test('who is signed out signs in first, and then sees the wanted page', { skip }, async () => {
  const page = await browser.open(here('/jobs/guarded?namespace=default'))
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
  assert.equal(await page.getByRole('alert').count(), 0)
  assert.equal(await page.getByRole('link', { name: 'Sign in', exact: true }).count(), 0)
  await checkAccess(page)
  await page.getByRole('textbox', { name: 'Token' }).fill('not-a-token')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('alert').getByText('Unknown token.').waitFor()
  await checkAccess(page)
  await page.getByRole('textbox', { name: 'Token' }).fill(readerSecret)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'guarded', level: 1 }).waitFor()
  assert.equal(page.url(), here('/jobs/guarded?namespace=default'))
  await page.close()
})

test('a printed link signs in a tab that shows the form already', { skip }, async () => {
  const page = await browser.open(here('/jobs/guarded?namespace=default'))
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
  await page.evaluate((hash) => {
    window.location.hash = hash
  }, `token=${readerSecret}`)
  await page.getByRole('heading', { name: 'guarded', level: 1 }).waitFor()
  assert.equal(page.url().includes(readerSecret), false)
  await page.close()
})

test('another site is no page to return to', { skip }, async () => {
  const page = await browser.open(here('/sign-in?next=https%3A%2F%2Fevil.example%2Fui%2F'))
  await page.getByRole('textbox', { name: 'Token' }).fill(readerSecret)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page
    .getByRole('row', { name: /guarded/ })
    .first()
    .waitFor()
  assert.ok(page.url().startsWith(here('/jobs')))
  await page.close()
})

test(
  'the session of nobody offers to sign in, that of somebody to sign out',
  { skip },
  async () => {
    const page = await browser.open(here('/session'))
    const main = page.getByRole('main')
    await main.getByRole('link', { name: 'Sign in', exact: true }).click()
    await page.getByRole('textbox', { name: 'Token' }).fill(readerSecret)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('textbox', { name: 'Token' }).waitFor({ state: 'detached' })
    await page.goto(here('/session'))
    await main.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.close()
  },
)

test(
  'who signs in with a limited token sees what it may, and why not the rest',
  { skip },
  async () => {
    const page = await browser.open(here('/sign-in'))
    await page.getByRole('textbox', { name: 'Token' }).fill(readerSecret)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page
      .getByRole('row', { name: /guarded/ })
      .getByText('1 running')
      .waitFor()
    await page.getByRole('link', { name: 'guarded' }).click()
    const stop = page.getByRole('button', { name: 'Stop…' })
    await stop.waitFor()
    assert.equal(await stop.getAttribute('aria-disabled'), 'true')
    await stop.focus()
    await page.getByText(/lacks namespace:submit-job or namespace:deregister-job/).waitFor()
    await stop.press('Enter')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await checkAccess(page)
    await page.getByRole('link', { name: 'Ada' }).click()
    await page.getByText('readers').waitFor()
    await checkAccess(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
    await page.close()
  },
)

test('a limited token sees changes come by themselves', { skip }, async () => {
  const page = await browser.open(here('/jobs'), { workload: readerSecret })
  await page.getByRole('row', { name: /guarded/ }).waitFor()
  await runFile(manager, serviceFile('guarded-too', { count: 1 }))
  await page
    .getByRole('row', { name: /guarded-too/ })
    .getByText('1 running')
    .waitFor()
  await page.close()
})

test('a one-time link signs in once and leaves no secret in the address', { skip }, async () => {
  const { data } = await manager.v1.createOneTimeToken()
  const link = here(`/sign-in?ott=${data.OneTimeToken.OneTimeSecretID}`)
  const page = await browser.open(link)
  await page
    .getByRole('row', { name: /guarded/ })
    .first()
    .waitFor()
  assert.equal(page.url(), here('/jobs'))
  const kept: unknown = await page.evaluate(`sessionStorage.getItem('reeve.tokens')`)
  assert.equal(JSON.parse(String(kept)).workload, managerSecret)
  await page.close()
  const again = await browser.open(link)
  await again.getByRole('alert').getByText('The sign-in link has expired.').waitFor()
  await again.close()
})
