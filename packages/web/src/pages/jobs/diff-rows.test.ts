import assert from 'node:assert/strict'
import type { FieldDiff, JobDiff } from '@reeve/contract'
import { test } from 'node:test'
import { diffRows } from './diff-rows.ts'

function field(
  Name: string,
  Type: FieldDiff['Type'],
  [Old, New]: readonly [string, string],
): FieldDiff {
  return { Name, Type, Old, New, Annotations: null }
}

const DIFF: JobDiff = {
  Type: 'Edited',
  ID: 'web',
  Fields: [
    field('Priority', 'Edited', ['50', '70']),
    field('Region', 'None', ['global', 'global']),
  ],
  Objects: null,
  TaskGroups: [
    {
      Type: 'Edited',
      Name: 'app',
      Fields: [field('Count', 'Edited', ['1', '3'])],
      Objects: [
        {
          Type: 'Added',
          Name: 'Update',
          Fields: [field('Canary', 'Added', ['', '1'])],
          Objects: null,
        },
      ],
      Tasks: [
        { Type: 'None', Name: 'same', Fields: null, Objects: null, Annotations: null },
        {
          Type: 'Edited',
          Name: 'api',
          Fields: [field('Driver', 'Edited', ['exec', 'docker'])],
          Objects: null,
          Annotations: ['forces create/destroy update'],
        },
      ],
      Updates: { create: 2 },
    },
  ],
}

test('a diff becomes rows: headings and changed fields, in the order of the job', () => {
  const rows = diffRows(DIFF).map((row) =>
    row.kind === 'head'
      ? `${' '.repeat(row.depth)}${row.type} ${row.text} [${row.notes.join()}]`
      : `${' '.repeat(row.depth)}${row.name}: ${row.old} > ${row.new}`,
  )
  assert.deepEqual(rows, [
    'Priority: 50 > 70',
    'Edited Group app [2 create]',
    ' Count: 1 > 3',
    ' Added Update []',
    '  Canary:  > 1',
    ' Edited Task api [forces create/destroy update]',
    '  Driver: exec > docker',
  ])
})
