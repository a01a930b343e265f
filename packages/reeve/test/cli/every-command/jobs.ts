import { aJobText } from '../../build/job-text.ts'
import type { Story } from './story.ts'

const CANARY = 'min_healthy_time = "0s"\ncanary = 1\nauto_promote = false'
const TALKS =
  'echo ready; echo aside >&2; echo kept > local/note; trap "echo woken" HUP; while true; do sleep 0.1; done'

/** Every version waits for a person before it replaces the one before. */
function shop(version: number): string {
  return aJobText({ id: 'shop', update: CANARY, script: `version=${version}; ${TALKS}` }).replace(
    'config {',
    'action "greet" {\n command = "/bin/echo"\n args = ["good", "day"]\n}\nconfig {',
  )
}

/** A job from its file to its end. */
export const jobStory: Story = {
  name: 'jobs',
  files: { 'shop.hcl': shop(0), 'shop1.hcl': shop(1), 'shop2.hcl': shop(2), 'shop3.hcl': shop(3) },
  rows: [
    { line: 'job init first.hcl', says: /^first\.hcl written\. Next:\n\n {2}reeve job plan first/ },
    { line: 'job validate first.hcl', says: /^Job "example" is valid\.\n$/ },
    {
      line: 'job plan shop.hcl',
      code: 3,
      says: /\+ {3}Job: "shop"[^]*--check-index 0 shop\.hcl\n$/,
    },
    { line: 'job run shop.hcl', says: /^Job "shop" is registered[^]*is successful/ },
    {
      line: 'job status shop',
      says: /^ID += shop\n[^]*\nVersion += 0, stable\n/,
    },
    {
      line: 'job allocs shop',
      says: /^ID +Job +Group[^]* shop +app +0 .* healthy /,
      keeps: { alloc: /^([0-9a-f]{8}) +shop/m },
    },
    { line: 'job logs --tail 1 shop', says: /^ready\n$/, warns: /^aside\n$/ },
    { line: 'job explain shop', says: /^all allocations are placed\n$/ },
    { line: 'job inspect shop', says: /"ID": "shop"/ },
    {
      line: 'job actions shop',
      says: /^Name +Group +Task +Command\ngreet +app +main +\/bin\/echo good day\n$/,
    },
    { line: 'job action shop greet', says: /^good day\n$/ },
    {
      line: 'job tag shop golden',
      says: /^Version 0 of job "shop" is tagged "golden"\.\n$/,
    },
    {
      line: 'job scale --detach shop 1',
      says: /^Group "app" of job "shop" is scaled to 1\.\n/,
    },
    {
      line: 'alloc status {alloc}',
      says: /\nJob += shop, version 0\n[^]*\nTask "main" is running\n/,
    },
    { line: 'alloc logs --stdout {alloc}', says: /^ready\n$/ },
    {
      line: 'alloc signal -s SIGHUP {alloc}',
      says: /^SIGHUP was sent to the tasks of allocation \w{8} \(shop/,
    },
    { line: 'alloc logs -f --stdout {alloc}', leavesAt: /woken\n/, code: 130 },
    { line: 'alloc exec {alloc} cat local/note', says: /^kept\n$/ },
    {
      line: ['alloc', 'exec', '-i', '{alloc}', 'sh', '-c', 'cat; exit 7'],
      input: 'in',
      code: 7,
      says: /^in$/,
    },
    { line: 'alloc fs {alloc} main/local/note', says: /^kept\n$/ },
    { line: 'alloc cp shop:main/local/note note.txt', says: /^1 file copied to \S+note\.txt\.\n$/ },
    {
      line: 'alloc cp shop.hcl shop/app[0]:local/',
      says: /^1 file copied to local\/shop\.hcl of task "main"\.\n$/,
    },
    { line: 'alloc port-forward shop :80', leavesAt: /Forwarding 127\.0\.0\.1:/, code: 130 },
    { line: 'alloc checks shop', says: /has no health checks\.\n$/ },
    { line: 'exec --job shop --group app --index 0 cat local/shop.hcl', says: /^job "shop" \{/ },
    { line: 'alloc stats {alloc}', says: /^Task +CPU[^]*\nmain +\d+ MHz +20 MHz/ },
    { line: 'alloc pause --status {alloc}', says: /^scheduled\n$/ },
    { line: 'alloc restart {alloc}', says: /^Restarted / },
    {
      line: 'job restart shop',
      says: /\n1 of 1 allocation restarted\.\n$/,
      // The allocation has to run again first.
      isAwaited: true,
    },
    { line: 'job deployments shop', says: /^ID +Version +Status[^]* successful / },
    { line: 'job run shop1.hcl', warns: /To promote them:\n\n {2}reeve job promote shop\n$/ },
    {
      line: 'deployment list --job shop',
      says: / shop +1 +running /,
      keeps: { trial: /^([0-9a-f]{8}) +shop +1 /m },
    },
    { line: 'deployment status {trial}', says: /\nGroup +Promoted +Desired[^]*\napp +no +1 +1 / },
    { line: 'deployment unblock --detach {trial}', says: /\(shop, version 1\) is unblocked\.\n$/ },
    { line: 'deployment pause {trial}', says: /\(shop, version 1\) is paused\.\n$/ },
    { line: 'deployment resume --detach {trial}', says: /\(shop, version 1\) is resumed\.\n$/ },
    { line: 'deployment promote {trial}', says: /is promoted\.\n[^]*is successful/ },
    { line: 'job run shop2.hcl', warns: /reeve job promote shop\n$/ },
    {
      line: 'job promote shop',
      says: /^The canaries of job "shop" are promoted\.\n[^]*is successful/,
    },
    { line: 'job run shop3.hcl', warns: /reeve job promote shop\n$/ },
    {
      line: 'deployment list --job shop',
      says: / shop +3 +running /,
      keeps: { late: /^([0-9a-f]{8}) +shop +3 /m },
    },
    { line: 'deployment fail {late}', says: /\(shop, version 3\) is marked as failed\.\n/ },
    { line: 'job history shop', says: /^Version[^]*\n3 [^]*\n0 +stable.*golden/ },
    { line: 'job revert --detach shop golden', says: /^Job "shop" is reverted to version 0 / },
    { line: 'job eval --detach shop', says: /^Job "shop" is evaluated again / },
    { line: 'job release shop', code: 1, warns: /job "shop" is not quarantined/ },
    {
      line: 'eval list --job shop',
      says: /^ID +Job +Triggered by/,
      keeps: { evaluation: /^([0-9a-f]{8}) +shop +job-register/m },
    },
    { line: 'eval status {evaluation}', says: /\nStatus += complete\n/ },
    { line: 'eval explain {evaluation}', says: /all allocations are placed/ },
    {
      line: 'job verdicts shop',
      says: /^No policy denied job "shop", and none was overridden\.\n$/,
    },
    {
      line: 'alloc status --job shop',
      says: / shop +app /,
      keeps: { last: /^([0-9a-f]{8}) +shop/m },
    },
    {
      line: 'alloc stop --detach {last}',
      says: /^Allocation \w{8} \(shop\.app\[0\]\) is being stopped/,
    },
    { line: 'job stop shop', says: /^Job "shop" is stopped / },
    { line: 'job start --detach shop', says: /^Job "shop" is started / },
    {
      line: 'job stop sho',
      code: 1,
      warns: /Stop job "shop" of namespace "default"\? Cannot ask/,
    },
    { line: 'job stop --purge --yes sho', says: /^Job "shop" is stopped and purged/ },
  ],
}

/** Jobs that make jobs. */
export const launchStory: Story = {
  name: 'jobs that are launched',
  files: {
    'greet.hcl': aJobText({ id: 'greet', type: 'batch', job: 'parameterized {}', script: 'true' }),
    'tick.hcl': aJobText({
      id: 'tick',
      type: 'batch',
      job: 'periodic {\n crons = ["0 0 1 1 *"]\n}',
      script: 'true',
    }),
  },
  rows: [
    { line: 'job run greet.hcl', says: /reeve job dispatch greet\n$/ },
    {
      line: 'job dispatch --detach greet',
      says: /^Job "greet\/dispatch-\S+" is dispatched\.\n/,
    },
    {
      line: 'job dispatch greet -',
      input: 'x'.repeat(20_000),
      code: 1,
      warns: /^reeve job dispatch: /,
    },
    { line: 'job dispatch --wait greet', says: /\nJob "greet\/dispatch-\S+" is complete\.\n$/ },
    { line: 'job list', says: /\ngreet [^]*\n\d child jobs are not listed; --children lists them/ },
    { line: 'job list --children', says: /\ngreet\/dispatch-/ },
    { line: 'job wait greet/dispatch-', code: 6, warns: /Several jobs begin with/ },
    { line: 'job status greet', says: /\nChild jobs\nID +Status +Started\ngreet\/dispatch-/ },
    { line: 'logs greet', warns: /^Logs of the newest child job, "greet\/dispatch-/ },
    { line: 'job run tick.hcl', says: /reeve job periodic force tick\n$/ },
    {
      line: 'job periodic force --detach tick',
      says: /^Job "tick" is launched as "tick\/periodic-/,
    },
  ],
}
