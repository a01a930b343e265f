import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatSource } from './format-source.ts'

function formatted(text: string): string {
  const result = formatSource(text, 'f.hcl')
  assert.ok(result.ok, JSON.stringify(result))
  return result.value
}

const CASES = [
  { name: 'indents blocks', text: 'a {\nb {\nc=1\n}\n}', to: 'a {\n  b {\n    c = 1\n  }\n}\n' },
  {
    name: 'aligns the equals signs of neighbours',
    text: 'a=1\nlong   = "x"\n\nb = 2\n',
    to: 'a    = 1\nlong = "x"\n\nb = 2\n',
  },
  {
    name: 'aligns no argument with one of several lines',
    text: 'a = 1\nlonger = [\n1,\n2\n]\nbc = 3\nd = 4\n',
    to: 'a = 1\nlonger = [\n  1,\n  2\n]\nbc = 3\nd  = 4\n',
  },
  {
    name: 'aligns comments behind neighbouring lines',
    text: 'a = 1 # one\nbcd = 22 // two\n#alone\n',
    to: 'a   = 1  # one\nbcd = 22 // two\n#alone\n',
  },
  {
    name: 'keeps comments between blocks',
    text: '# a\n\n  /* b */\nx {}   # c\n',
    to: '# a\n\n/* b */\nx {} # c\n',
  },
  {
    name: 'keeps the lines of a long comment',
    text: 'a {\n/* b\n   c */\n}\n',
    to: 'a {\n  /* b\n   c */\n}\n',
  },
  {
    name: 'keeps heredocs',
    text: 'a {\nb = <<EOF\n x\n   ${ y }\nEOF\nc=1\n}\n',
    to: 'a {\n  b = <<EOF\n x\n   ${ y }\nEOF\n  c = 1\n}\n',
  },
  { name: 'keeps strings', text: 'a  =  "x   ${ b+1 }  \\t"\n', to: 'a = "x   ${ b+1 }  \\t"\n' },
  {
    name: 'spaces operators, not signs',
    text: 'a=-1+b*-(c -d)\nb=!x&&y==1?2:3\n',
    to: 'a = -1 + b * -(c - d)\nb = !x && y == 1 ? 2 : 3\n',
  },
  {
    name: 'joins calls, indexes and paths',
    text: 'a = f ( b [ 0 ] , c . d, e ... )\n',
    to: 'a = f(b[0], c.d, e...)\n',
  },
  {
    name: 'keeps apart what follows a keyword',
    text: 'a=[for x in [1]:x if(x>0)]\n',
    to: 'a = [for x in [1] : x if (x > 0)]\n',
  },
  {
    name: 'writes empty braces together',
    text: 'a = { }\nport "http" {\n}\n',
    to: 'a = {}\nport "http" {\n}\n',
  },
  {
    name: 'writes a block of one line',
    text: 'port "http" {to=80}\n',
    to: 'port "http" { to = 80 }\n',
  },
  {
    name: 'indents brackets that open together once',
    text: 'a = merge([\n{\nb = 1\n}, {\nc = 2\n}])\n',
    to: 'a = merge([\n  {\n    b = 1\n  }, {\n    c = 2\n}])\n',
  },
  { name: 'keeps the numbers of an old index apart', text: 'a = b.1 .2\n', to: 'a = b.1. 2\n' },
  {
    name: 'keeps the line ends of a file',
    text: 'a=1\r\nb {\r\nc=2\r\n}',
    to: 'a = 1\r\nb {\r\n  c = 2\r\n}\r\n',
  },
  { name: 'ends with one line end', text: '\na = 1\n\n\n', to: '\na = 1\n' },
  { name: 'leaves nothing of an empty file', text: '  \n\n', to: '' },
]

for (const { name, text, to } of CASES)
  test(`format: ${name}`, () => {
    assert.equal(formatted(text), to)
    assert.equal(formatted(to), to)
  })

test('format: a text with mistakes is not formatted, and says where they are', () => {
  const result = formatSource('a = \n', 'f.hcl')
  assert.ok(!result.ok)
  assert.equal(result.error[0]?.range.start.line, 1)
})

const FILES = join(import.meta.dirname, '../../../reeve/test/jobspec/cases')

test('format: every job file of the tests is formatted once and for all', () => {
  const names = readdirSync(FILES, { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => name.endsWith('.hcl'))
  assert.ok(files.length > 50)
  let count = 0
  for (const file of files) {
    const result = formatSource(readFileSync(join(FILES, file), 'utf8'), file)
    if (!result.ok) continue
    count++
    assert.equal(formatted(result.value), result.value, file)
  }
  assert.ok(count > 50)
})

const blank = fc.constantFrom('', ' ', '\t', '  ')
const word = fc.constantFrom('a', 'bc', 'in', 'long_name', 'x-y')
const value = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    word,
    fc.constantFrom(
      '1',
      '2.5',
      '"s"',
      '"a ${ b } c"',
      'null',
      '-1',
      '!a',
      'a.b[0].*[1].c',
      'f(x, y...)',
    ),
    fc
      .tuple(
        tie('value'),
        blank,
        fc.constantFrom('+', '-', '*', '/', '==', '&&'),
        blank,
        tie('value'),
      )
      .map(([a, b, c, d, e]) => `(${a}${b} ${c} ${d}${e})`),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' ,\n')}]`),
    fc
      .array(fc.tuple(word, tie('value')), { maxLength: 3 })
      .map((items) => `{ ${items.map(([name, one]) => `${name}=${one}`).join('\n')} }`),
  ),
})).value
const comment = fc.constantFrom('', ' # c', '// c', '/* c */', '/* c\n d */')
const item = fc.letrec<{ item: string }>((tie) => ({
  item: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc
      .tuple(blank, word, blank, value, blank, comment)
      .map(([a, name, b, one, c, note]) => `${a}${name}${b}=${b}${one}${c}${note}`),
    fc
      .tuple(blank, word, comment)
      .map(([a, name, note]) => `${a}${name} = <<-EOT\n  x ${name}\n EOT\n${note}`),
    fc
      .tuple(word, comment, fc.array(tie('item'), { maxLength: 4 }))
      .map(([name, note, items]) => `${name} "l" {${note}\n${items.join('\n')}\n}`),
    comment,
    fc.constant(''),
  ),
})).item

test('format: what is formatted stays as it is', () => {
  let count = 0
  fc.assert(
    fc.property(fc.array(item, { maxLength: 6 }), (items) => {
      const once = formatSource(items.join('\n'), 'f.hcl')
      // Two arguments of one name, or an operator between two texts, are no matter of blanks.
      if (!once.ok) return
      count++
      assert.equal(formatted(once.value), once.value)
    }),
  )
  assert.ok(count > 20, `${count} texts were formatted`)
})
