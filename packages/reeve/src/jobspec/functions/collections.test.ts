import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { call, fails, testCalls } from '../../../test/build/function-cases.ts'

testCalls([
  ['alltrue([true, "true"])', 'true'],
  ['alltrue([])', 'true'],
  ['alltrue([true, false])', 'false'],
  ['alltrue([true, null])', 'false'],
  ['alltrue([1])', fails('element 0: a bool is required')],
  ['anytrue([false, true])', 'true'],
  ['anytrue([])', 'false'],
  ['anytrue([null])', 'false'],

  ['chunklist(["a", "b", "c", "d", "e"], 2)', '[["a","b"],["c","d"],["e"]]'],
  ['chunklist(["a", "b"], 0)', '[["a","b"]]'],
  ['chunklist([], 2)', '[]'],
  ['chunklist(["a"], 10)', '[["a"]]'],
  ['chunklist(["a"], -1)', fails('size must be a whole number of at least 0')],
  ['chunklist(["a"], 1.5)', fails('size must be a whole number')],

  ['coalesce("a", "b")', '"a"'],
  ['coalesce(null, "b")', '"b"'],
  ['coalesce("", "b")', '""'],
  ['coalesce(null, 1, "x")', '"1"'],
  ['coalesce(null, null)', fails('all arguments are null')],
  ['coalesce([1], "a")', fails('all arguments must have the same type')],
  ['coalesce()', fails('it takes at least 1 argument(s)')],
  ['coalescelist([], ["b"])', '["b"]'],
  ['coalescelist(["a"], ["b"])', '["a"]'],
  ['coalescelist(null, ["b"])', '["b"]'],
  ['coalescelist([], [])', fails('all lists are empty or null')],
  ['coalescelist("a")', fails('vals must be a list, but it is a string')],

  ['compact(["a", "", "b", null])', '["a","b"]'],
  ['compact([])', '[]'],
  ['compact([1, ""])', '["1"]'],
  ['compact({})', fails('a list of string is required')],

  ['concat(["a", ""], ["b", 1])', '["a","","b",1]'],
  ['concat([])', '[]'],
  ['concat(["a"], "b")', fails('seqs must be a list, but it is a string')],
  ['concat()', fails('it takes at least 1 argument(s)')],

  ['contains(["a", "b"], "b")', 'true'],
  ['contains(["a", "b"], "c")', 'false'],
  ['contains([1, 2], "1")', 'false'],
  ['contains([{a = 1}], {a = 1})', 'true'],
  ['contains([null], null)', 'true'],
  ['contains([], "a")', 'false'],
  ['contains("abc", "a")', fails('list must be a list, but it is a string')],

  ['distinct(["a", "b", "a", "c", "b"])', '["a","b","c"]'],
  ['distinct([1, "1"])', '["1"]'],
  ['distinct([[1], [1], [2]])', '[[1],[2]]'],
  ['distinct([{a = 1, b = 2}, {b = 2, a = 1}])', '[{"a":1,"b":2}]'],
  ['distinct([])', '[]'],
  ['distinct([1, []])', fails('all elements of a list must have the same type')],

  ['element(["a", "b", "c"], 1)', '"b"'],
  ['element(["a", "b", "c"], 3)', '"a"'],
  ['element(["a", "b", "c"], 100)', '"b"'],
  ['element(["a", "b", "c"], -1)', '"c"'],
  ['element([], 0)', fails('list must not be empty')],
  ['element(["a"], 0.5)', fails('index must be a whole number')],
  ['element({}, 0)', fails('list must be a list, but it is an object')],

  ['flatten([["a", "b"], [], ["c"]])', '["a","b","c"]'],
  ['flatten([[["a"], "b"], ["c", [["d"]]]])', '["a","b","c","d"]'],
  ['flatten([{a = [1]}, null])', '[{"a":[1]},null]'],
  ['flatten("a")', fails('list must be a list')],

  ['index(["a", "b", "c"], "b")', '1'],
  ['index(["a", "b", "c"], 1)', '"b"'],
  ['index({a = 5}, "a")', '5'],
  ['index(["1", "2"], "2")', '1'],
  ['index(["a"], "x")', fails('collection does not contain "x"')],
  ['index(["a"], 1)', fails('key must be a whole number from 0 to 0')],
  ['index(["a"], 0.5)', fails('key must be a whole number')],
  ['index({}, "a")', fails('collection has no key "a"')],
  ['index("abc", 0)', fails('collection must be a list, a map or an object')],

  ['length([])', '0'],
  ['length(["a", "b"])', '2'],
  ['length({a = 1})', '1'],
  ['length("héllo")', '5'],
  ['length(5)', fails('value must be a list, a map, an object or a string')],

  ['matchkeys(["i1", "i2", "i3"], ["a", "b", "a"], ["a"])', '["i1","i3"]'],
  ['matchkeys(["x"], [1], ["1"])', '["x"]'],
  ['matchkeys(["x"], ["a", "b"], [])', fails('keys must be as many as values')],

  ['one([])', 'null'],
  ['one(["a"])', '"a"'],
  ['one(null)', 'null'],
  ['one(["a", "b"])', fails('list must have at most one element, but it has 2')],

  ['reverse([1, 2, 3])', '[3,2,1]'],
  ['reverse([])', '[]'],
  ['reverse("abc")', fails('list must be a list, but it is a string')],

  ['slice(["a", "b", "c", "d"], 1, 3)', '["b","c"]'],
  ['slice(["a"], 0, 0)', '[]'],
  ['slice(["a"], 1, 1)', '[]'],
  ['slice(["a"], 0, 2)', fails('end_index must be at most 1')],
  ['slice(["a", "b"], 2, 1)', fails('start_index must not be greater than end_index')],
  ['slice(["a"], -1, 1)', fails('start_index must be a whole number of at least 0')],

  ['sort(["e", "d", "a", "x"])', '["a","d","e","x"]'],
  ['sort([10, 9])', '["10","9"]'],
  ['sort(["B", "a", "ä"])', '["B","a","ä"]'],
  ['sort([null])', fails('list must not have null as element 0')],

  ['keys({b = 1, a = 2})', '["a","b"]'],
  ['keys({})', '[]'],
  ['keys([1])', fails('map must be a map or an object, but it is a list')],
  ['values({b = 1, a = "x"})', '["x",1]'],
  ['values("a")', fails('map must be a map or an object, but it is a string')],

  ['lookup({a = "x"}, "a", "d")', '"x"'],
  ['lookup({a = "x"}, "b", "d")', '"d"'],
  ['lookup({a = "x"}, "b", null)', 'null'],
  ['lookup({a = null}, "a", "d")', 'null'],
  ['lookup({a = "x"}, "a")', '"x"'],
  ['lookup({a = "x"}, "b")', fails('map has no key "b", and no default is given')],
  ['lookup({}, "constructor", "d")', '"d"'],
  ['lookup({}, "a", 1, 2)', fails('it takes at most 3 argument(s)')],
  ['lookup(["x"], "a", 1)', fails('map must be a map or an object')],

  ['merge({a = 1}, {b = 2})', '{"a":1,"b":2}'],
  ['merge({a = 1}, {a = 2})', '{"a":2}'],
  ['merge({a = 1}, null)', '{"a":1}'],
  ['merge(null)', 'null'],
  ['merge()', '{}'],
  ['merge({a = {x = 1}}, {a = {y = 2}})', '{"a":{"y":2}}'],
  ['merge({a = 1}, [])', fails('maps must be a map or an object, but it is a list')],

  ['transpose({a = ["1", "2"], b = ["2", "3"]})', '{"1":["a"],"2":["a","b"],"3":["b"]}'],
  ['transpose({})', '{}'],
  ['transpose({a = ["x", "x"]})', '{"x":["a"]}'],
  ['transpose({a = "x"})', fails('a list of string is required')],
  ['transpose({a = [null]})', fails('values must not have null as element 0')],

  ['zipmap(["a", "b"], [1, true])', '{"a":1,"b":true}'],
  ['zipmap([], [])', '{}'],
  ['zipmap(["a", "a"], [1, 2])', '{"a":2}'],
  ['zipmap(["a"], [1, 2])', fails('there are 1 keys and 2 values')],

  ['setintersection(["a", "b"], ["b", "c"], ["b", "b"])', '["b"]'],
  ['setintersection([1, 2], ["2"])', '["2"]'],
  ['setintersection(["a", "a"])', '["a"]'],
  ['setunion(["b", "a"], ["c", "a"])', '["a","b","c"]'],
  ['setunion([10, 9], [1])', '[1,9,10]'],
  ['setunion([])', '[]'],
  ['setunion(["a"], [[]])', fails('all sets must have elements of the same type')],
  ['setsubtract(["a", "b", "c"], ["a", "c", "d"])', '["b"]'],
  ['setsubtract(["a", "a"], [])', '["a"]'],
  ['setsymmetricdifference(["a", "b"], ["b", "c"])', '["a","c"]'],
  ['setproduct(["a", "b"], [1, 2])', '[["a",1],["a",2],["b",1],["b",2]]'],
  ['setproduct(["a"], ["b"], ["c", "d"])', '[["a","b","c"],["a","b","d"]]'],
  ['setproduct(["a"], [])', '[]'],
  ['setproduct(range(1000), range(1000), [])', '[]'],
  ['setproduct(["a"])', fails('it takes at least 2 argument(s)')],
  [
    'setproduct(range(1000), range(1000), range(1000))',
    fails('it needs more than the 2000000 steps'),
  ],
])

const elements = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 8 })
const literal = (list: readonly number[]) => JSON.stringify(list)

function truth(source: string): void {
  const result = call(source)
  assert.ok(result.ok, source)
  assert.equal(result.value, true, source)
}

test('sets obey the laws of algebra', () => {
  fc.assert(
    fc.property(elements, elements, elements, (x, y, z) => {
      const [a, b, c] = [literal(x), literal(y), literal(z)]
      truth(`setunion(${a}, ${b}) == setunion(${b}, ${a})`)
      truth(`setintersection(${a}, ${b}) == setintersection(${b}, ${a})`)
      truth(
        `setintersection(${a}, setunion(${b}, ${c})) == setunion(setintersection(${a}, ${b}), setintersection(${a}, ${c}))`,
      )
      truth(
        `setsymmetricdifference(${a}, ${b}) == setunion(setsubtract(${a}, ${b}), setsubtract(${b}, ${a}))`,
      )
      truth(`setintersection(setsubtract(${a}, ${b}), ${b}) == []`)
      truth(`length(setproduct(${a}, ${b})) == length(${a}) * length(${b})`)
    }),
    { numRuns: 50 },
  )
})

test('chunks put together are the list, and distinct keeps each value once', () => {
  fc.assert(
    fc.property(elements, fc.integer({ min: 1, max: 5 }), (x, size) => {
      truth(`flatten(chunklist(${literal(x)}, ${size})) == ${literal(x)}`)
      truth(`toset(distinct(${literal(x)})) == toset(${literal(x)})`)
      truth(`distinct(${literal(x)}) == ${literal([...new Set(x)])}`)
    }),
  )
})
