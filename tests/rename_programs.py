"""Small programs full of traps, and the names in them that renaming may touch."""

from typing import NamedTuple


class Program(NamedTuple):
    """Hold a program and what level 5 renames in it."""

    text: str
    renamed: str  # names, in any order


C_PROGRAM = r"""
#include <stdio.h>
#include <stddef.h>
#include <string.h>
#define SQUARE(n) ((n) * (n) + offset)
enum colour { RED, GREEN = 4 };
typedef struct node { int size; struct node *next; } Node;
union both { int whole; char parts[4]; };
static int offset = 2, counter;
static int twice(int x);
extern int unrelated;
static int twice(int x) { return x * 2; }
int old_style(a, b) int a; char *b; { return a + (int)strlen(b); }
int *pick(struct node *node, int (*chooser)(int key, int size)) {
    static int kept;
    kept = chooser(node->size, 1);
    return &kept;
}
static int add(int key, int other) { return key + other; }
int sum(int count, int rows[]) {
    int total = 0, shown = 7;
    for (int i = 0; i < count; i++) {
        int total = rows[i];
        if (total < 0) goto done;
        counter += total;
    }
    total += SQUARE(count) + shown;
done:
    return (total) - 1 + sizeof(total) - sizeof(int);
}
int main(void) {
    int rows[3] = { [1] = 5, [0] = 1, [2] = 3 };
    Node next = { .size = 3, .next = NULL }, *head = &next;
    union both both; both.whole = GREEN;
    struct { int size; } size = { 6 };
    enum colour shade = RED;
    size_t where = offsetof(Node, next);
    const char *text = "total rows";
    printf("%d %d %d %d %s %d\n", sum(3, rows), *pick(head, add), both.whole, size.size, text,
           (int)(where > 0) + shade + twice(counter) + old_style(1, "ab"));
    switch (shade) { case RED: { int rows = 2; printf("%d\n", rows); } break; default: break; }
    return 0;
}
"""

CPP_PROGRAM = r"""
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>
using namespace std;
namespace tools { int level = 3; int deeper() { return level + 1; } }
enum class Mood { calm, wild };
struct Point {
    int x, y;
    Point(int x, int y) : x(x), y(y) {}
    bool operator<(const Point &other) const { return x < other.x; }
    int area() const { return x * y; }
    static int made;
    int scaled(int factor) { int result = x * factor; return result + made; }
};
int Point::made = 1;
class Base {
protected: int hidden = 5;
public: virtual ~Base() {} virtual int get() { return 1; } };
class Child : public Base { public: int get() override { return hidden + extra(); }
    int extra() { return 2; } };
template <typename Item, int Size = 3>
Item first(const vector<Item> &items) { return items[Size - 3]; }
template <class... Parts> int howMany(Parts... parts) { return sizeof...(parts); }
int gcd(int left, int right) { return right ? gcd(right, left % right) : left; }
int counter = 0, hidden = 4;
int main() {
    vector<int> numbers{3, 1, 2};
    map<string, int> ages; ages["a"] = 1;
    sort(numbers.begin(), numbers.end(), [&](int one, int two) { counter++; return one > two; });
    auto adder = [base = 10](int step) mutable { base += step; return base; };
    for (auto &[key, value] : ages) cout << key << value;
    for (int number : numbers) cout << number;
    for (auto numbers : {1, 2}) cout << numbers;
    Point point(2, 3); Point *pointer = new Point(4, 5);
    Mood mood = Mood::wild;
    using Number = long long; Number wide = 7;
    typedef vector<Number> Row; Row row(2, 1);
    try { throw 3; } catch (int error) { cout << error; }
    if (int found = gcd(4, 6); found > 1) cout << found;
    if (auto it = ages.find("a"); it != ages.end()) cout << it->second;
    Child child;
    cout << point.x << pointer->area() << (mood == Mood::calm) << wide << row.size() << child.get()
         << tools::level << tools::deeper() << first(numbers) << howMany(1, 2) << adder(1)
         << point.scaled(2) << hidden << counter << static_cast<int>(wide) << endl;
    delete pointer;
}
"""

JAVA_PROGRAM = """
import java.util.*;
import java.util.function.*;

public class Main {
    private static int counter = 0;
    static final int LIMIT = 3;
    private final int size;
    public int shown = 1;
    enum Colour { RED, GREEN }
    interface Shape { double area(); default String name() { return "shape" + area(); } }
    record Pair(int left, String right) {
        Pair { if (left < 0) throw new IllegalStateException(); } }
    static class Square implements Shape {
        private double side;
        Square(double side) { this.side = side; }
        @Override public double area() { return side * side; }
        private double twice() { return this.area() * 2 + helper(1); }
        private int helper(int value) { return value; }
        private int helper(int value, int other) { return value + other; }
        double both() { return twice() + this.helper(1, 2); }
    }
    static class Odd extends Exception { Odd(String text) { super(text); } }
    static class Stack2 extends ArrayList<Integer> {
        int top() { return size() == 0 ? -1 : get(size() - 1); }
    }
    Main(int size) { this.size = size; }
    static <T extends Comparable<T>> T best(List<T> items) {
        T found = items.get(0);
        for (T item : items) { if (item.compareTo(found) > 0) found = item; }
        return found;
    }
    private static int sum(int... numbers) {
        int total = 0;
        outer:
        for (int i = 0; i < numbers.length; i++) {
            for (int j = 0; ; j++) { if (j > i) continue outer; total += numbers[i]; }
        }
        return total;
    }
    static int twice(int x) { return x * 2; }
    static String describe(Object thing) {
        if (!(thing instanceof String text)) return "none";
        if (thing instanceof CharSequence seq && seq.length() > 9) return "long";
        return text + LIMIT;
    }
    static int colour(Colour chosen) {
        switch (chosen) { case RED: int shade = 2; return shade; default: return 0; }
    }
    public static void main(String[] args) throws Exception {
        List<Integer> numbers = new ArrayList<>(List.of(3, 1, 2));
        Collections.sort(numbers, (first, second) -> second - first);
        Function<Integer, Integer> doubler = Main::twice;
        BiFunction<Integer, Integer, Integer> adder = (Integer a, Integer b) -> a + b;
        Comparator<Integer> order = new Comparator<Integer>() {
            public int compare(Integer one, Integer two) { counter++; return two - one; }
        };
        Thread worker = new Thread() {
            public void run() { String name = getName(); counter += name.length(); } };
        worker.run();
        try (Scanner in = new Scanner("4 5")) { counter += in.nextInt(); }
        catch (RuntimeException problem) { throw problem; }
        try { throw new Odd("x"); } catch (Odd caught) { System.out.println(caught); }
        Main main = new Main(4);
        int size = main.size + main.shown, length = args.length;
        Stack2 stack = new Stack2(); stack.add(size);
        Shape shape = new Square(2);
        System.out.println(numbers + " " + best(numbers) + sum(1, 2) + describe("a")
            + doubler.apply(3) + adder.apply(1, 2) + order.compare(1, 2) + shape.name()
            + new Square(1).both() + stack.top() + new Pair(1, "r") + Colour.GREEN
            + colour(Colour.RED) + length + Main.counter + Main.twice(2));
    }
}
"""

JS_PROGRAM = r"""
'use strict';
const fs = require('fs');
var total = 0, { sep: separator, delimiter } = require('path');
let counter = 1;
function join(left, right = left, ...rest) {
  const size = rest.length;
  return `${left}-${right}-${size} size`;
}
const point = (x, y) => ({ x, y, sum: x + y });
class Shape {
  #side = 2;
  static made = 0;
  constructor(side) { this.side = side; Shape.made += 1; }
  get area() { return this.#side * this.side; }
  grow({ by, times: count = 2 }, [first, , third]) { return by * count + first + third; }
}
class Square extends Shape { describe() { return super.area + 'side'; } }
const fact = function inner(n) { return n < 2 ? 1 : n * inner(n - 1); };
outer: for (let i = 0; i < 3; i++) {
  for (const j of [1, 2]) { if (j > i) continue outer; total += i * j; }
}
for (var key in { a: 1 }) { total += key.length; }
function hoisted() { found = 3; var found; return found; }
let one = 1, two = 2;
[one, two] = [two, one];
({ one, two } = { one: 5, two: 6 });
try { null.x; } catch ({ message }) { total += message.length > 0 ? 1 : 0; }
try { undefinedName; } catch (problem) { total += problem.name.length; }
const named = () => 1;
async function* stream(limit) { for (let k = 0; k < limit; k++) yield k; }
switch (counter) { case 1: let shade = 4; total += shade; break; default: }
const shape = new Square(3);
const options = { counter, total: total, ['k' + one]: two, join(left) { return left; } };
console.log(join(1), point(1, 2).x, shape.area, shape.grow({ by: 2 }, [1, 2, 3]), fact(4), total,
  hoisted(), options.counter, options.join(2), named.name, shape.describe(), separator.length,
  typeof stream, delimiter.length, typeof fs, Shape.made);
"""

PHP_PROGRAM = """<?php
namespace App\\Tools;
use Some\\Library as Lib;
$start = 1;
function area(int $width, int $height = 2, ...$rest) {
    global $start;
    static $calls = 0;
    $calls++;
    [$one, 'k' => $two] = ['a', 'k' => 'b'];
    foreach ($rest as $key => $value) { $sum = ($sum ?? 0) + $value; }
    try { risky($width); } catch (\\Exception $problem) { echo $problem->getMessage(); }
    $scale = function ($x) use ($width, &$sum) { return $x * $width; };
    $shift = fn($y) => $y + $height;
    preg_match('/a/', 'a', $matches);
    echo "w $width {$height} {$rest[0]} $this->width $one[key] \\$width", <<<EOT
    $two and {$problem->code}
    EOT;
    return $scale(1) + $shift(2) + count($matches) + $start;
}
class Box { private $size = 3; public static $made = 0;
    public function __construct(private int $depth, $size) { $this->size = $size; self::$made++; }
    public function grow($by) {
        $grown = $this->size + $by; return area(width: $grown, height: 1); } }
"""

GO_PROGRAM = """package main

import (
	"fmt"
	str "strings"
)

type shape struct {
	side, depth int `json:"side"`
}

type Namer interface{ Name(prefix string) string }

const limit, Exported = 3, 4

var counter = 1

func (s *shape) area(depth int) (result int, err error) {
	result = s.side * depth
	return
}

func helper[K comparable, V any](key K, values map[K]V) V {
	return values[key]
}

func Public(x int, rest ...string) int {
	total := x
	if total := total + 1; total > limit {
		counter += total
	} else {
		total--
	}
loop:
	for index, word := range rest {
		switch length := len(word); {
		case length > 2:
			break loop
		default:
			total += index
		}
	}
	var thing interface{} = x
	switch value := thing.(type) {
	case int:
		total += value
	}
	channel := make(chan int, 1)
	select {
	case got, ok := <-channel:
		fmt.Println(got, ok)
	default:
	}
	side := 2
	box := shape{side: side, depth: 3}
	lookup := map[string]int{str.ToUpper("a"): total}
	add := func(one int) int { return one + counter }
	size, _ := box.area(1)
	fmt.Println(add(box.side), lookup, helper("A", lookup), size, Exported)
	return total
}

func main() { Public(1, "a") }
"""

RUBY_PROGRAM = """
LIMIT = 3
$shared = 1
class Basket < Base
  attr_accessor :size, :owner
  def initialize(size, owner: nil, colour: 'red', **rest, &block)
    @size = size
    self.owner = owner
    label = "#{colour} basket"
    @rest = rest.merge(label: label)
  end
  def fill(items, limit = LIMIT, *others)
    total = 0
    items.each_with_index do |item, index|
      total += item * index
      doubled = item * 2
      puts "#{doubled} #{total}"
    end
    first, (second, *third) = others
    begin
      risky(first)
    rescue ArgumentError => problem
      warn problem.message
    end
    count = items.map { |x| x + 1 }.select { |y; z| z = y; z > limit }.size
    for n in 1..3 do total += n end
    pick = ->(a, b = 1) { a + b }
    pick.call(second)
    case others
    in [head, *tail] then total += head
    in {name: String => title, age:} then puts title, age
    end
    send(:size)
    size ? third : total + tail.size + count
  end
  def shorthand(width, height) = area(width:, height: height)
  def matched(text)
    if /(?<year>\\d+)/ =~ text then year end
  end
end
"""

CSHARP_PROGRAM = """
using System;
using System.Collections.Generic;
using Alias = System.Text.StringBuilder;
namespace Shapes {
    public class Box<T> : Base, IShape where T : new() {
        private static int made = 0;
        private readonly int side;
        public int Width { get; set; } = 1;
        public event Action Changed;
        enum Mood { Calm, Wild }
        record Pair(int Left, int Right);
        public Box(int side, int depth) : base(depth) { this.side = side; made++; }
        public override string ToString() => $"{side} {Width:x}";
        private int Grow(int by, ref int count, out int result) {
            count += by; result = Twice(by); return side; }
        static int Twice(int number) => number * 2;
        public int Area(int width, string text, params int[] rest) {
            int total = 0, unused = 1;
            outer: for (int i = 0; i < rest.Length; i++) { if (i > 2) goto done; total += rest[i]; }
            foreach (var (key, value) in Pairs()) { total += value; Console.WriteLine(key); }
            using (var reader = Open(text)) { reader.Read(); }
            try { Risky(); }
            catch (Exception problem) when (problem.Message != null) { Log(problem); }
            Func<int, int> doubler = x => x + total;
            Func<int, int, int> adder = (a, b) => { return a + b; };
            if (text is string s && s.Length > 1) { total += s.Length; }
            Grow(by: 1, ref total, out var grown);
            var (low, high) = Range();
            var pair = (low, sum: high);
            var made2 = new { total, Size = grown };
            var shape = new Shape { Side = low, Depth = high };
            var name = nameof(width);
            int Local(int depth) { return depth + total; }
            var query = from item in list where item > 1 let twice = item * 2
                orderby twice select twice;
            var found = text switch { "a" => 1, { Length: var len } => len, _ => 0 };
            done: return Local(1) + this.side + doubler(adder(1, 2)) + found + Other.made;
        }
    }
}
"""

PROGRAMS = {
    "c": Program(
        C_PROGRAM,
        "GREEN Node RED a add b both chooser colour count counter done head i kept key next "
        "node old_style other pick rows shade shown size sum text total twice where x",
    ),
    "cpp": Program(
        CPP_PROGRAM,
        "Base Item Mood Number Parts Point Row Size adder ages base calm child counter deeper "
        "error factor first found howMany it items key left level mood number numbers one "
        "other parts point pointer result right row step two value wide wild",
    ),
    "java": Program(
        JAVA_PROGRAM,
        "Colour LIMIT Shape Square T a adder args b best caught chosen colour describe "
        "doubler first found helper i in item items j name numbers one order other outer "
        "problem second seq shade shape side stack sum text thing total twice two value "
        "worker x",
    ),
    "javascript": Program(
        JS_PROGRAM,
        "Shape Square count fact first found fs hoisted i inner j join k key left limit n "
        "options outer point rest right separator shade shape side size stream third total",
    ),
    "php": Program(
        PHP_PROGRAM,
        "by calls grown key matches one problem rest scale shift size sum two value x y",
    ),
    "go": Program(
        GO_PROGRAM,
        "K V add box channel counter err got helper index key length limit lookup loop ok one "
        "prefix rest result s size thing total value values word x",
    ),
    "ruby": Program(
        RUBY_PROGRAM,
        "a b block count doubled first head height index item items label limit n others pick "
        "problem rest second tail text third title total x y z",
    ),
    "csharp": Program(
        CSHARP_PROGRAM,
        "Local T a adder b count depth done doubler found high i item key len made2 name "
        "number outer pair problem query reader rest result s shape side text twice unused x",
    ),
}
