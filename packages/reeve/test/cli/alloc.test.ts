import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { aCommandLine } from '../build/cli.ts'
import { runShellJob, shellTask } from '../build/cli-jobs.ts'
import { until } from '../build/until.ts'

const SCRIPT = `
i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo "line $i"; done
echo "bad" >&2
printf 'first\\nsecond\\nthird\\n' > local/notes
trap 'echo hup' HUP; while true; do sleep 0.1; done`

test('alloc', async (t) => {
  const reeve = await aCommandLine(t)
  const [id = ''] = await runShellJob(t, reeve.client, { id: 'web', script: SCRIPT })
  const [other = ''] = await runShellJob(t, reeve.client, {
    id: 'two',
    script: 'exec sleep 1000',
    tasks: [shellTask('aside', 'exec sleep 1000')],
  })
  const short = id.slice(0, 8)
  await until('all that the task writes', async () => {
    const { out } = await reeve.run(`alloc logs ${id}`)
    return out.includes('line 30') || undefined
  })

  await t.test('metrics have the usage of its task and of the node', async () => {
    const names = [
      'service_task_memory_rss',
      'service_task_memory_allocated',
      'service_task_cpu_percent',
      'service_node_host_memory_size',
    ]
    const text = await until('all of them', async () => {
      const answer = await fetch(`${reeve.address}/v1/metrics?format=prometheus`)
      const read = await answer.text()
      return names.every((name) => read.includes(`\n${name}{`)) ? read : undefined
    })
    const labels = `namespace="default",job="web",task_group="group",task="main",alloc_id="${id}"`
    const allocated = new RegExp(
      `^service_task_memory_allocated\\{${labels},host="[^"]+"\\} ${20 * 1024 * 1024}$`,
      'm',
    )
    assert.match(text, allocated)
    const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    const keys = series.map((line) => line.slice(0, line.lastIndexOf(' ')))
    assert.equal(new Set(keys).size, keys.length, 'no series is there twice')
    for (const line of series)
      assert.match(line, /^[a-z_]\w*(?:\{.*\})? (?:-?[\d.e+-]+|NaN|\+Inf)$/i)
  })

  await t.test('status lists those that have not ended', async () => {
    const said = await reeve.ok('alloc status --job web')
    assert.match(said, /^ID +Job +Group +Version +Node +Desired +Status +Created\n/)
    assert.match(said, new RegExp(`\\n${short} +web +group +0 +\\S+ +run +running +\\S+ ago\\n$`))
    const ids = await reeve.ok(['alloc', 'status', '-t', '{{ range . }}{{ .ID }} {{ end }}'])
    assert.deepEqual(ids.trim().split(' ').toSorted(), [id, other].toSorted())
    const all: unknown = JSON.parse(await reeve.ok('alloc status --all --json'))
    assert.ok(Array.isArray(all) && all.length === 2)
  })

  await t.test('status shows one by the beginning of its id, from any namespace', async () => {
    const said = await reeve.ok(`alloc status ${id.slice(0, 7)}`)
    assert.match(said, new RegExp(`^ID +=? ?${id}\n`))
    assert.match(said, /\nName +=? ?/)
    assert.match(said, /\nJob +=? ?web, version 0\n/)
    assert.match(said, /\nTask "main" is running\n/)
    assert.match(said, /\nTime +Event +Description\n/)
    assert.match(said, / +Started +/)
    const verbose = await reeve.ok(`alloc status --verbose ${id}`)
    assert.match(verbose, /\nPlacement\nNodes evaluated +=? ?1\n/)
    const read: { ID: string } = JSON.parse(await reeve.ok(`alloc status --json ${id}`))
    assert.equal(read.ID, id)
  })

  await t.test(
    'status finds a running allocation by its job, and names what is running',
    async () => {
      assert.match(await reeve.ok('alloc status web'), /\nJob +=? ?web, version 0\n/)
      assert.deepEqual(await reeve.run('alloc status web/none[7]'), {
        code: 6,
        out: '',
        err:
          'reeve alloc status: No allocation of group "none" with index 7 of job "web" in ' +
          'namespace "default" is running.\nRunning allocations: web.group[0].\n',
      })
      const missing = id.startsWith('0000') || other.startsWith('0000') ? '11111111' : '00000000'
      assert.deepEqual(await reeve.run(`alloc status ${missing}`), {
        code: 6,
        out: '',
        err:
          `reeve alloc status: There is no allocation "${missing}".\n` +
          'For a list, run "reeve alloc status".\n',
      })
    },
  )

  await t.test('logs gives output and errors apart, and the end of them', async () => {
    const both = await reeve.run(`alloc logs ${short}`)
    assert.equal(both.code, 0)
    assert.ok(both.out.startsWith('line 1\nline 2\n'))
    assert.equal(both.err, 'bad\n')
    assert.equal(await reeve.ok(`alloc logs --stdout -n 2 ${short}`), 'line 29\nline 30\n')
    assert.equal(await reeve.ok(`alloc logs --stdout -c 5 ${short}`), 'e 30\n')
    const errors = await reeve.run('alloc logs --stderr --job web')
    assert.deepEqual(errors, { code: 0, out: '', err: 'bad\n' })
    assert.equal((await reeve.run(`alloc logs --task main -n 1 ${short}`)).out, 'line 30\n')
  })

  await t.test('logs follows until Ctrl-C', async () => {
    const leaving = new AbortController()
    let written = ''
    const following = reeve.run(`alloc logs -f -n 1 ${short}`, {
      signal: leaving.signal,
      onWritten: (text) => (written += text),
    })
    await until('the last line', () => written.includes('line 30\n') || undefined)
    await reeve.ok(`alloc signal -s SIGHUP ${short}`)
    await until('what is new', () => written.includes('hup\n') || undefined)
    leaving.abort()
    const { code, out } = await following
    assert.equal(code, 130)
    assert.equal(out, 'line 30\nhup\n')
  })

  await t.test('logs asks for a task when there are several', async () => {
    const { code, err } = await reeve.run(`alloc logs ${other}`)
    assert.equal(code, 2)
    assert.match(err, /allocation two\.group\[0\] has the tasks aside, main: name one\.\n$/)
    const unknown = await reeve.run(`alloc logs ${other} nobody`)
    assert.equal(unknown.code, 6)
    assert.equal(
      unknown.err,
      'reeve alloc logs: Allocation two.group[0] has no task "nobody".\nIt has aside, main.\n',
    )
    assert.equal(await reeve.ok(`alloc logs ${other} aside`), '')
  })

  await t.test('logs says that nothing of a job runs', async () => {
    await reeve.client.v1.registerJob({
      body: {
        Job: {
          ID: 'idle',
          Datacenters: ['nowhere'],
          TaskGroups: [{ Name: 'group', Count: 1, Tasks: [shellTask('main', 'true')] }],
        },
      },
    })
    const { code, err } = await reeve.run('alloc logs --job idle')
    assert.equal(code, 6)
    assert.match(err, /No allocation of job "idle" in namespace "default" is running\.\n/)
    assert.match(err, /"reeve job explain idle" why nothing runs\.\n$/)
  })

  await t.test('fs lists, writes out, ends and describes', async () => {
    const listing = await reeve.ok(`alloc fs ${short}`)
    assert.match(listing, /^Mode +Size +Modified +Name\n/)
    assert.match(listing, / main\/\n/)
    assert.equal(await reeve.ok(`alloc fs ${short} main/local/notes`), 'first\nsecond\nthird\n')
    // A path of the task, as an upload takes it, is found as well.
    for (const path of ['main/local/notes', 'local/notes'])
      await reeve.ok(`alloc cp ${short}:${path} ${join(tmpdir(), `reeve-notes-${short}`)}`)
    await rm(join(tmpdir(), `reeve-notes-${short}`))
    assert.equal(await reeve.ok(`alloc fs -n 1 ${short} main/local/notes`), 'third\n')
    assert.equal(await reeve.ok(`alloc fs -c 4 --job web main/local/notes`), 'ird\n')
    const described = await reeve.ok(`alloc fs --stat --exact ${short} main/local/notes`)
    assert.match(described, /^Name +=? ?notes\nMode +=? ?-\S+\nSize +=? ?19\n/)
    const stat: { Size: number } = JSON.parse(
      await reeve.ok(`alloc fs --stat --json ${short} main/local/notes`),
    )
    assert.equal(stat.Size, 19)
    const names = ['alloc', 'fs', '-t', '{{ range . }}{{ .Name }};{{ end }}', short]
    assert.equal(await reeve.ok(names), 'alloc;main;\n')
  })

  await t.test('fs says when a directory has more than is listed', async () => {
    const script = 'i=0; while [ $i -le 10000 ]; do : > local/many/$i; i=$((i+1)); done'
    await reeve.ok(['alloc', 'exec', short, '/bin/sh', '-c', `mkdir local/many; ${script}`])
    const { code, out, err } = await reeve.run(`alloc fs ${short} main/local/many`)
    assert.equal(code, 0, err)
    assert.equal(out.trimEnd().split('\n').length, 10_001, 'the heading and 10,000 entries')
    assert.match(err, /^Only 10000 entries are listed, and the directory has more\./)
  })

  await t.test('fs follows a file that grows', async () => {
    const leaving = new AbortController()
    let written = ''
    const following = reeve.run(`alloc fs -f -n 1 ${short} main/local/notes`, {
      signal: leaving.signal,
      onWritten: (text) => (written += text),
    })
    await until('the last line', () => written.includes('third\n') || undefined)
    await reeve.ok(['alloc', 'exec', short, 'sh', '-c', 'echo fourth >> local/notes'])
    await until('the new line', () => written.includes('fourth\n') || undefined)
    leaving.abort()
    assert.deepEqual(await following, { code: 130, out: 'third\nfourth\n', err: '' })
  })

  await t.test('fs tells what cannot be read', async () => {
    const missing = await reeve.run(`alloc fs ${short} main/nothing`)
    assert.equal(missing.code, 6)
    assert.match(missing.err, /^reeve alloc fs: /)
    const secret = await reeve.run(`alloc fs ${short} main/secrets`)
    // It is no question of rights.
    assert.equal(secret.code, 1)
    const directory = await reeve.run(`alloc fs -f ${short} main`)
    assert.deepEqual(directory, {
      code: 2,
      out: '',
      err: 'reeve alloc fs: main is a directory: only files are followed.\n',
    })
    const json = await reeve.run(`alloc fs --json ${short} main/local/notes`)
    assert.equal(json.code, 2)
  })

  await t.test('stats shows what each task uses', async () => {
    const said = await reeve.ok(`alloc stats ${short}`)
    assert.match(said, /^Task +CPU +Reserved +CPU % +Memory +Reserved +Peak\n/)
    assert.match(said, /\nmain +\d+ MHz +20 MHz +\d+\.\d +\d+\.\d [KM]iB +20 MiB/)
    const both = await reeve.ok(`alloc stats ${other}`)
    assert.match(both, /\nall +/)
    const usage: { Tasks: object } = JSON.parse(await reeve.ok(`alloc stats --json --job web`))
    assert.deepEqual(Object.keys(usage.Tasks), ['main'])
  })

  await t.test(
    'exec sends input, gives output and errors, and ends as the command does',
    async () => {
      const script = 'cat; echo aside >&2; exit 7'
      const ended = await reeve.run(['alloc', 'exec', '-i', short, 'sh', '-c', script], {
        input: 'piped\n',
      })
      assert.deepEqual(ended, { code: 7, out: 'piped\n', err: 'aside\n' })
      assert.equal(
        await reeve.ok(['alloc', 'exec', '--job', 'web', 'echo', '-n', '--', '-i']),
        '-- -i',
      )
      const task = ['alloc', 'exec', '--task', 'aside', other, 'sh', '-c', 'echo $REEVE_TASK_NAME']
      assert.equal(await reeve.ok(task), 'aside\n')
      const silent = await reeve.run(['alloc', 'exec', '--no-stdin', short, 'cat'], { input: 'x' })
      assert.deepEqual(silent, { code: 0, out: '', err: '' })
    },
  )

  await t.test('exec is the same as a process of its own, and ends by its own Ctrl-C', async () => {
    const ended = await reeve.spawn(['alloc', 'exec', short, 'sh', '-c', 'cat; exit 3'], {
      input: 'from a pipe',
    })
    assert.deepEqual(ended, { code: 3, out: 'from a pipe', err: '' })
    const leaving = new AbortController()
    const waiting = reeve.run(['alloc', 'exec', short, 'sh', '-c', 'echo begun; sleep 1000'], {
      signal: leaving.signal,
      onWritten: () => leaving.abort(),
    })
    assert.deepEqual(await waiting, { code: 130, out: 'begun\n', err: '' })
  })

  await t.test('exec says what is wrong', async () => {
    const usages = [
      [['alloc', 'exec', short], /say which command to run/],
      [['alloc', 'exec', '-it', short, 'sh'], /--tty needs a terminal/],
      [['alloc', 'exec', '-e', 'xx', short, 'sh'], /--escape is one character or "none"/],
      [['alloc', 'exec'], /name an allocation, or a job with --job/],
    ] as const
    for (const [line, says] of usages) {
      const { code, err } = await reeve.run(line)
      assert.equal(code, 2, err)
      assert.match(err, says)
    }
    const missing = await reeve.run(['alloc', 'exec', short, '/no/such/program'])
    assert.notEqual(missing.code, 0)
  })

  await t.test('signal refuses what is no signal', async () => {
    const { code, err } = await reeve.run(`alloc signal -s SIGNOTHING ${short}`)
    assert.equal(code, 1)
    assert.match(err, /SIGNOTHING/)
  })

  await t.test('restart keeps the allocation', async () => {
    const said = await reeve.ok(`alloc restart ${other} aside`)
    const where = `allocation ${other.slice(0, 8)} (two.group[0])`
    assert.equal(said, `Restarted task "aside" of ${where} in place.\n`)
    const { data } = await reeve.client.v1.readAllocation({ params: { alloc_id: other } })
    const events = data.TaskStates?.['aside']?.Events.map(({ Type }) => Type) ?? []
    assert.ok(events.includes('Restart Signaled'))
  })

  await t.test('stop shows what takes its place', async () => {
    const said = await reeve.ok(`alloc stop ${other}`)
    assert.match(
      said,
      /^Allocation \w{8} \(two\.group\[0\]\) is being stopped \(evaluation \w{8}\)\.\n/,
    )
    assert.match(said, /\nAllocation \w{8} of group "group" is placed on \S+\.\n/)
    assert.match(said, /\nEvaluation \w{8} is complete\.\n$/)
    const detached = await reeve.ok(`alloc stop --detach --no-shutdown-delay ${short}`)
    assert.equal(detached.split('\n').length, 2)
  })
})
