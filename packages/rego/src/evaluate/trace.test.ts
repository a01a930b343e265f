import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromJson } from '../value/json.ts'
import type { TraceEvent } from './env.ts'
import { compileRego } from './program.ts'

const POLICY = `package t
allow if {
	some user in input.users
	user.age >= 18
	user.name == "root"
}
note := x if {
	trace("looking")
	print("age", input.users[0].age, input.missing)
	x := 1
}`

function run(query: string, explains: boolean) {
  const events: TraceEvent[] = []
  const lines: string[] = []
  const compiled = compileRego({ modules: [{ file: 'a.rego', text: POLICY }], version: 1 })
  assert.ok(compiled.ok)
  const asked = compiled.value.prepareQuery(query, { explain: explains })
  assert.ok(asked.ok)
  const result = asked.value.evaluate({
    input: fromJson({ users: [{ name: 'ann', age: 20 }] }),
    trace: (event) => events.push(event),
    print: (line) => lines.push(line),
  })
  assert.ok(result.ok)
  return { events, lines }
}

test('trace: a query that explains names the goal that failed and the values it failed with', () => {
  const { events } = run('data.t.allow', true)
  const failed = events.filter((event) => event.type === 'failed-goal')
  const places = failed.map(({ place }) => place.source.locate(place.at).row)
  assert.deepEqual(places, [5, 1])
  assert.equal(failed[0]?.locals.has('user'), true)
  assert.ok(
    events.some((event) => event.type === 'undefined' && event.rule.group.name === 'data.t.allow'),
  )
})

test('trace: a plain query reports no goals', () => {
  assert.deepEqual(run('data.t.allow', false).events, [])
})

test('trace: print writes what is undefined too, and trace leaves notes', () => {
  const { events, lines } = run('data.t.note', false)
  assert.deepEqual(lines, ['age 20 <undefined>'])
  assert.deepEqual(events, [{ type: 'note', text: 'looking' }])
})
